/** Shared by the adapters of agent frameworks: a tool call is checked before it runs, and the verdict decides its outcome. */

import { isClientError } from '../client/errors.ts'
import type { ActionParams, ApprovalRef, CheckGuardrailsResult } from '../client.gen.ts'
import type { Client } from '../client.ts'
import { refusalOf } from '../refusal.ts'

/** A tool call of a model, before it runs. */
export interface ToolCall {
  /** Name of the tool. */
  tool: string
  /** Its arguments. */
  input: unknown
}

/** Options of every adapter. */
export interface GuardOptions {
  /** A client of the service; its agent is the one that rules see. */
  client: Pick<Client, 'checkGuardrails'>
  /** Applied to the arguments before anything is sent: returns them without secrets, or shorter. If it throws, the call is denied. */
  mask?: ((input: unknown, tool: string) => unknown) | undefined
  /** Further fields of the action, such as `project`, `stakes` or a `context`. The default is `category: 'tool_use'` and nothing else. */
  action?: ((call: ToolCall) => Partial<ActionParams>) | undefined
  /** What happens to a call if the service can't be reached: by default `closed`, it is denied; with `open` it runs unchecked. */
  fail?: 'closed' | 'open' | undefined
  /** Milliseconds that a check may take. Default 5000. */
  timeoutMs?: number | undefined
  /** Called for every failed check, whatever its outcome. */
  onError?: ((error: unknown, call: ToolCall) => void) | undefined
}

/** The outcome of a check. Each `reason` is for the model. */
export type Outcome =
  | { verdict: 'allow' }
  /** It may run with this input instead. */
  | { verdict: 'modify'; input: unknown; reason: string }
  /** A person has been asked; the same call is allowed once the approval is granted. */
  | { verdict: 'hold'; approval: ApprovalRef; reason: string }
  | { verdict: 'deny'; reason: string }

/** Maximum characters of the arguments in the description; rules and people see all of them in the context. */
const longestShown = 300

const shortForm = (input: unknown): string => {
  const text = JSON.stringify(input) ?? ''
  return text.length > longestShown ? `${text.slice(0, longestShown).toWellFormed()}…` : text
}

type Plain = Record<string, unknown>
const isPlain = (value: unknown): value is Plain => value !== null && typeof value === 'object' && !Array.isArray(value)

/** The target with the source's value at the path, or without that path if the source has none. */
function takeOver(target: unknown, source: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return source
  const inner = isPlain(target) ? target : {}
  if (!isPlain(source) || !Object.hasOwn(source, step))
    return Object.fromEntries(Object.entries(inner).filter(([key]) => key !== step))
  return { ...inner, [step]: takeOver(inner[step], source[step], rest) }
}

/** The arguments with the rules' changes and nothing else of the answer, since the arguments that were sent may be masked. */
function modified({ input }: ToolCall, { changes, modified_action }: CheckGuardrailsResult): Outcome {
  const context = modified_action?.context
  const inContext = changes.filter(({ field }) => field.startsWith('context.'))
  const foreign = inContext.find(({ field }) => !/^context\.input(?:\.|$)/.test(field))
  if (foreign)
    return { verdict: 'deny', reason: `${foreign.rule} changes ${foreign.field}, which is not an argument of the tool` }
  if (inContext.length === 0) return { verdict: 'allow' }
  const paths = inContext.map(({ field }) => field.split('.').slice(1))
  const changed = paths.reduce<unknown>((value, path) => takeOver(value, context, path), { input }) as Plain
  const descriptions = inContext.map(({ field, before, after, rule }) => {
    const name = field.slice('context.'.length)
    return `${name} from ${JSON.stringify(before)} to ${JSON.stringify(after)} (${rule})`
  })
  return { verdict: 'modify', input: changed.input, reason: `Changed by policy: ${descriptions.join(', ')}` }
}

function outcomeOf(call: ToolCall, result: CheckGuardrailsResult): Outcome {
  if (result.verdict === 'modify') return modified(call, result)
  if (result.allowed) return { verdict: 'allow' }
  const reason = `Not allowed by policy. ${refusalOf(result.violations)}`
  return result.approval?.state === 'pending'
    ? { verdict: 'hold', approval: result.approval, reason }
    : { verdict: 'deny', reason }
}

const isUnavailable = (error: unknown): boolean =>
  isClientError(error) && ['unreachable', 'timeout', 'unavailable'].includes(error.kind)

/**
 * Checks a tool call. Never rejects: what can't be checked is denied, unless the service is unavailable and `fail` is `open`.
 * @example
 * ```ts
 * const outcome = await judge({ client }, { tool: 'pay', input: { invoice: '4711', amount: 120 } })
 * if (outcome.verdict !== 'allow') console.log(outcome.reason)
 * ```
 */
export async function judge(options: GuardOptions, call: ToolCall, signal?: AbortSignal): Promise<Outcome> {
  const { client, mask, action, fail, timeoutMs = 5_000, onError } = options
  const { tool } = call
  try {
    const input = mask ? mask(call.input, tool) : call.input
    const seen = { tool, input }
    const { context, ...more } = action?.(seen) ?? {}
    const description = `${tool} ${shortForm(input)}`.trim()
    const asked = { category: 'tool_use', description, ...more, context: { ...context, ...seen } }
    return outcomeOf(call, await client.checkGuardrails({ action: asked }, { timeoutMs, signal }))
  } catch (error) {
    onError?.(error, call)
    if (fail === 'open' && isUnavailable(error)) return { verdict: 'allow' }
    return {
      verdict: 'deny',
      reason: `Not allowed: the policy could not be checked. ${error instanceof Error ? error.message : error}`,
    }
  }
}
