/** What must never come of what an adversary does. */
import { isDeepStrictEqual } from 'node:util'
import { callers } from '../support/program.ts'
import {
  type Answered,
  alice,
  bob,
  breaker,
  canary,
  category,
  connector,
  letter,
  review,
  secret,
  verdicts,
  type World,
} from './adversary-world.ts'

const day_ms = 86_400_000

/** Whether the breaker still watches for the failures that opened it. */
export const stopped = async ({ as }: World): Promise<boolean> =>
  (await as(alice, 'getCircuitState', { scope: breaker })).state !== 'closed'

/** Every review that the others would have made anyway. */
export async function settle(world: World): Promise<void> {
  const { as, program } = world
  for (const key of Object.keys(verdicts)) await review(world, key as keyof typeof verdicts)
  program.clock.now += 8 * day_ms
  await as(bob, 'attributeOutcomes', { project: 'team/app', since: '2020-01-01' })
}

const kept = [
  'decision',
  'category',
  'confidence',
  'stakes',
  'context',
  'reasons',
  'alternatives_considered',
  'tags',
  'pattern',
  'bridge',
  'preserve',
  'holds',
  'recorded_by',
  'review_by',
] as const

/** Steps of the request that others were granted, as its trail has them. */
async function grantsOf({ program, ids }: World): Promise<unknown[]> {
  const found: unknown[] = []
  for (let cursor = Number.MAX_SAFE_INTEGER; ; ) {
    const lines = await program.store.audit.list({ cursor, limit: 200 })
    for (const { seq, method, agent, detail } of lines) {
      cursor = seq
      const { approval, state } = (detail ?? {}) as { approval?: string; state?: string }
      if (approval === ids.get('@approval0')) found.push([method, agent, state])
    }
    if (lines.length < 200) return found
  }
}

/** Answers in which the adversary reads what is not for it. */
export const leaked = (answers: readonly Answered[]): Answered[] =>
  answers.filter((answer) => JSON.stringify([answer.result, answer.error]).includes(secret))

/** What must not depend on anything that the adversary does. */
export async function untouchable(world: World) {
  const { as, ids } = world
  const decisions: Record<string, unknown> = {}
  const projects: Record<string, unknown> = {}
  const outcomes: Record<string, unknown> = {}
  for (const [key, id] of ids) {
    if (!/^@alice/.test(key)) continue
    const found = await as(alice, 'getDecision', { id })
    decisions[key] = Object.fromEntries(kept.map((field) => [field, found[field] ?? null]))
    projects[key] = found.project
    // A pending one may be reviewed by anybody, in their own name; a review by another agent is the one that counts, and evidence before it.
    if (key === '@alice0' || key === '@alice3') outcomes[key] = found.outcome
  }
  const own = new Map([...ids].filter(([key]) => key.startsWith('@alice')).map(([key, id]) => [id, key]))
  // In their order, whatever it says of its own decisions.
  const named = (hits: { id: string; superseded_by?: string | null }[]) =>
    hits.map(({ id, superseded_by }) => [own.get(id)!, superseded_by])
  const ranks: unknown[] = []
  for (const query of ['Use PostgreSQL as ledger', 'Keep backups in another region all year']) {
    const { decisions: hits } = (await as(alice, 'queryDecisions', { query, limit: 50 })) as {
      decisions: { id: string; superseded_by?: string | null }[]
    }
    const known = hits.filter(({ id }) => own.has(id))
    ranks.push({ best: own.get(hits[0]!.id), known: named(known) })
  }
  const { events } = (await as(connector, 'listEvidence', { evidence_class: 'observed', limit: 100 })) as {
    events: unknown[]
  }
  const calibration = (await as(alice, 'getCalibration', { agent: 'mallory' })) as {
    by_reviewer?: Record<string, unknown>
  }
  const past: Record<string, unknown> = {}
  for (const key of [...ids.keys()].filter((key) => /^@(?:alice|mallory)/.test(key))) {
    const found = await as(alice, 'getDecision', { id: ids.get(key), as_of: world.began })
    past[key] = Object.fromEntries([...kept, 'outcome', 'actual_result'].map((field) => [field, found[field] ?? null]))
  }
  const { as_of: _, ...figures } = await as(alice, 'getCalibration', { agent: 'mallory', as_of: world.began })
  past.figures = figures
  const { pins } = (await as(callers.root, 'listPins', {})) as { pins: unknown[] }
  const { guardrails } = (await as(callers.root, 'listGuardrails', {})) as { guardrails: Record<string, unknown>[] }
  return {
    decisions,
    pins,
    past,
    rules: guardrails.map(({ id, action, mode }) => [id, action, mode]),
    projects,
    outcomes,
    grants: await grantsOf(world),
    ranks,
    observed: events.length,
    by_others: calibration.by_reviewer?.others,
    by_evidence: calibration.by_reviewer?.observed,
  }
}

/** Answers that let it do what a rule stops, whatever it said of itself. */
export function unstopped(answers: readonly Answered[]): unknown[] {
  return answers.filter(({ name, result, params }) => {
    if (name === 'gateway') {
      const { tool, input } = params as { tool: string; input: unknown }
      if (result?.kind !== 'forward') return false
      return tool === 'drop' || (tool === 'send' && !isDeepStrictEqual(input, letter))
    }
    if (result?.allowed !== true || !/verdict|violations/.test(Object.keys(result).join())) return false
    type Given = { category?: string | null; context?: { payment?: { amount: number }; 'payment.amount'?: number } }
    const given = params as { action?: Given } & Given
    const { category: named, context } = given.action ?? given
    const word = named ?? ''
    // A transfer may be allowed where it names one amount, and that is small.
    const amounts = [context?.payment?.amount, context?.['payment.amount']].filter((one) => one !== undefined)
    if (plain(word) === category.moved) return amounts.length !== 1 || amounts[0] !== 1
    return stopping.has(plain(word))
  })
}
/** How often what a person granted once was made. */
export const sent = (answers: readonly Answered[]): number =>
  answers.filter(({ name, params, result }) => {
    return name === 'gateway' && (params as { tool: string }).tool === 'send' && result?.kind === 'forward'
  }).length

/** Categories in which nothing that it does may be allowed; the breaker lets a trial through. */
const stopping = new Set<string>([category.paid, category.proven, category.asked])
const plain = (word: string) =>
  word
    .normalize('NFKC')
    .replace(/[\s\u200b]/g, '')
    .toLowerCase()
    .replaceAll('е', 'e')
    .replaceAll('ο', 'o')

const breaks = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/
const quotation = /"(?:\\.|[^"\\])*"/g

/** What another agent reads in which the adversary's words are not inside a quotation, or are a principle for everybody. */
export async function unquoted({ as }: World): Promise<string[]> {
  const task = { task_description: 'Use PostgreSQL as ledger' }
  const { markdown } = await as(bob, 'getSessionContext', { ...task, format: 'markdown' })
  const { confirmed_patterns } = await as(bob, 'getSessionContext', task)
  const { wisdom } = (await as(bob, 'getWisdom', { min_decisions: 1 })) as { wisdom?: { key_principles: unknown[] }[] }
  const principles = [confirmed_patterns, ...(wisdom ?? []).flatMap(({ key_principles }) => key_principles)]
  return [
    ...String(markdown)
      .split(breaks)
      .filter((line) => line.replace(quotation, '').includes(canary)),
    ...principles.map((one) => JSON.stringify(one)).filter((text) => text.includes(canary)),
  ]
}
