/** Replays transcripts over anything that can carry a call. A transport is one more adapter of {@link Transport}. */
import { codes, type ErrorName } from '../../sdk/errors.ts'
import { takeDelivery } from '../../src/domain/ledger/evidence/github/events.ts'
import { deliveryOf, merged } from '../support/github.ts'
import type { As, TestProgram } from '../support/program.ts'
import type { CallStep, WireCase } from './case.ts'
import { differences } from './match.ts'
import type { WireServer } from './server.ts'

/** What a caller sees of an error; parts that a transport does not carry are left out, and not compared. */
export interface SeenError {
  code?: number
  message?: string
  data?: unknown
}

export type Outcome = { result: unknown } | { error: SeenError }

/** One way to the methods. */
export interface Transport {
  /** Whether it has this call; steps that it has not are made over HTTP, so that the story goes on. By default it has all. */
  carries?(step: { method: string; params: unknown; as: As }): boolean
  /** Calls a method, by its name without `cstp.`, as a caller. @throws for what is no answer of the service */
  call(as: As, method: string, params: unknown): Promise<Outcome>
  close?(): Promise<void>
}

/** Opens a transport to a program that is served over HTTP as well; it may use either. */
export interface TransportKind {
  name: string
  open(server: WireServer): Promise<Transport>
}

/** What `save` kept, by name. */
export type Saved = Record<string, unknown>

/** A value with what was saved in the place of its names. */
export function filled(value: unknown, saved: Saved): unknown {
  if (Array.isArray(value)) return value.map((one) => filled(one, saved))
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [String(filled(key, saved)), filled(one, saved)]),
    )
  if (typeof value !== 'string') return value
  const whole = /^\$(\w+)$/.exec(value)?.[1]
  if (whole !== undefined && Object.hasOwn(saved, whole)) return saved[whole]
  return value.replace(/\$(\w+)(?:\[(\d+):(\d+)\])?/g, (text, name: string, from?: string, to?: string) =>
    Object.hasOwn(saved, name)
      ? String(saved[name]).slice(Number(from ?? 0), to === undefined ? undefined : Number(to))
      : text,
  )
}

/** The value at a path such as `decisions.0.id`. */
export const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value)

/** What is wrong with an outcome. */
function judge(step: CallStep, outcome: Outcome, saved: Saved): string[] {
  if (step.error === undefined) {
    if ('error' in outcome) return [`it was refused: ${JSON.stringify(outcome.error)}`]
    return differences(filled(step.result, saved), outcome.result)
  }
  if (!('error' in outcome)) return [`it was not refused: ${JSON.stringify(outcome.result)}`]
  const { error, message, data } = step.error
  const expected: Record<string, unknown> = { code: codes[error as ErrorName], message, data }
  return Object.entries(outcome.error).flatMap(([part, seen]) =>
    differences(filled(expected[part], saved), seen, `.error.${part}`),
  )
}

const units: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000 }

/** Milliseconds of a `pass`, such as `8d`. */
export const passing = (time: string): number => Number.parseInt(time, 10) * units[time.at(-1)!]!

/** Replays one case on a fresh program. @throws with the step and every difference */
export async function replay(
  { method, rules, steps }: WireCase,
  program: TestProgram,
  transport: Transport,
  http: Transport,
): Promise<void> {
  if (rules !== undefined) await program.rules(rules)
  const saved: Saved = {}
  for (const [index, step] of steps.entries()) {
    if ('pass' in step) program.clock.now += passing(step.pass)
    else if ('embedder' in step) program.embedder.health = step.embedder
    else if ('merged' in step) await takeDelivery(program.services.chain, deliveryOf(merged(step.merged)), [])
    else {
      const name = step.call ?? method
      const params = filled(step.params, saved)
      const carried = transport.carries?.({ method: name, params, as: step.as }) ?? true
      const outcome = await (carried ? transport : http).call(step.as, name, params)
      const wrong = judge(step, outcome, saved)
      if (wrong.length > 0) throw new Error(`step ${index + 1}, ${name}:\n${wrong.join('\n')}`)
      for (const [as, path] of Object.entries(step.save ?? {}))
        saved[as] = at('result' in outcome ? outcome.result : undefined, path)
    }
  }
}
