/** The world in which an adversary with read and write acts: other agents' records, verdicts of others on its own, and rules that stop it. */
import type { CstpError } from '../../sdk/errors.ts'
import type { Caller, Scope } from '../../src/core/caller.ts'
import { methods } from '../../src/methods/table.ts'
import { callTool } from '../../src/surfaces/mcp/tools.ts'
import type { TestProgram } from '../support/program.ts'

const agent = (name: string, scopes: Scope[]): Caller => ({ agent: name, scopes: new Set(scopes) })
const mallory = agent('mallory', ['read', 'write'])
const alice = agent('alice', ['read', 'write'])
const bob = agent('bob', ['read', 'write'])
const person = agent('person', ['read', 'approve'])
const connector = agent('connector', ['read', 'evidence'])

const hour_ms = 3_600_000
export const category = {
  broken: 'deployment',
  proven: 'release',
  paid: 'payment',
  asked: 'purchase',
  moved: 'transfer',
} as const
const breaker = `category:${category.broken}`

/** Each rule stops one category, for a reason that the adversary can't remove by what it says. */
const rules = `
guardrails:
  - { id: never, action: block, message: No payments, condition_category: ${category.paid} }
  - id: proven
    action: block
    message: The build must have passed
    condition_category: ${category.proven}
    requires: [{ evidence: ci_completed, conclusion: success, for: context.pr }]
  - { id: asked, action: step_up, message: A person agrees, condition_category: ${category.asked}, step_up: { expires: 1h } }
  - { id: large, action: block, message: Too much, condition_category: ${category.moved}, condition_context.payment.amount: "> 5000" }
circuit_breakers:
  - { scope: "${breaker}", failure_threshold: 2, window_ms: ${24 * hour_ms}, cooldown_ms: ${hour_ms} }
`

/** What others have been granted. */
export const purchase = { description: 'Buy a server', category: category.asked, stakes: 'high', confidence: 0.9 }

/** One step of the adversary: calls made at once (a method of JSON-RPC, or a tool of MCP), or time that passes. */
export type Step = { calls: { name: string; params: unknown; tool?: boolean }[] } | { wait_ms: number }

export interface World {
  program: TestProgram
  /** Ids by the names that steps use: `@alice0`, `@mallory1`, `@new0`, `@last` for what it touched last. */
  ids: Map<string, string>
  /** A call as anybody. @throws CstpError */
  as(caller: Caller, name: string, params: object): Promise<Record<string, unknown>>
}

/** What the others will say in the end of the adversary's decisions, whatever it did. */
export const verdicts = {
  mallory0: 'failure',
  mallory1: 'failure',
  mallory2: 'success',
  mallory3: 'failure',
  mallory4: 'partial',
  mallory5: 'failure',
} as const
const minute_ms = 60_000

export async function openWorld(program: TestProgram): Promise<World> {
  let requests = 0
  const { signal } = new AbortController()
  const ids = new Map<string, string>()
  const as: World['as'] = async (caller, name, params) =>
    (await program.dispatch({
      method: `cstp.${name}`,
      params,
      caller,
      request_id: `w${requests++}`,
      signal,
    })) as Record<string, unknown>
  const world: World = { program, ids, as }
  await program.rules(rules)
  const record = async (key: string, by: Caller, given: object) => {
    program.clock.now += minute_ms
    const { decision_id } = await as(by, 'recordDecision', { confidence: 0.9, category: 'architecture', ...given })
    ids.set(`@${key}`, String(decision_id))
  }
  await record('alice0', alice, { decision: 'Use PostgreSQL as ledger', tags: ['ledger'] })
  await record('alice1', alice, { decision: 'Rotate the signing keys every quarter', tags: ['keys'] })
  await record('alice2', alice, { decision: 'Keep backups in another region all year', tags: ['backup'] })
  await record('alice3', alice, {
    decision: 'Encrypt backups with the customer key',
    tags: ['backup'],
    project: { name: 'team/app', pr: 7 },
  })
  for (const key of Object.keys(verdicts))
    await record(key, mallory, { decision: `Deploy service ${key}`, category: category.broken, tags: ['risky'] })
  const review = (key: string, by: Caller, outcome: string) =>
    as(by, 'reviewDecision', { decision_id: ids.get(`@${key}`), outcome, actual_result: `${key}: ${outcome}` })
  await review('alice0', bob, 'success')
  await review('alice1', alice, 'success')
  await review('mallory0', bob, 'failure')
  await review('mallory1', bob, 'failure')
  const ts = new Date(program.clock.now).toISOString()
  const event = (event_type: string, payload: object) => ({ event_type, ts, payload })
  await as(connector, 'ingestEvidence', {
    source: 'github',
    events: [
      event('ci_completed', { repo: 'team/other', pr_number: 7, conclusion: 'success' }),
      event('ci_completed', { repo: 'team/app', pr_number: 7, conclusion: 'failure' }),
      // Merged after all of these decisions were recorded: it belongs to the one that named it before.
      event('pr_merged', { repo: 'team/app', pr_number: 7 }),
    ],
  })
  program.clock.now += minute_ms
  // What the adversary may want to use: a grant of somebody else's request, and a request of its own that waits.
  for (const [at, by] of [bob, mallory].entries()) {
    const { approval } = (await as(by, 'checkGuardrails', { action: purchase })) as { approval: { id: string } | null }
    if (approval) ids.set(`@approval${at}`, approval.id)
  }
  if (ids.has('@approval0')) await as(person, 'decideApproval', { id: ids.get('@approval0'), decision: 'approve' })
  return world
}

/** The names of ids in `value`, replaced by the ids that exist now; those of nobody by the first. */
function resolve(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return value.startsWith('@') ? (ids.get(value) ?? ids.get('@alice0')) : value
  if (Array.isArray(value)) return value.map((one) => resolve(one, ids))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one, ids)]))
}

/** A call of the adversary and how it was answered; the result is null where it was refused. */
export interface Answered {
  name: string
  params: unknown
  error?: string
  result: Record<string, unknown> | null
}

/** Takes a step; what was recorded gets a name. */
export async function take(world: World, step: Step): Promise<Answered[]> {
  const { program, ids, as } = world
  if ('wait_ms' in step) {
    program.clock.now += step.wait_ms
    return []
  }
  const one = async ({ name, params, tool }: (typeof step.calls)[number]): Promise<Answered> => {
    const given = resolve(params, ids) as object
    try {
      if (!tool) return { name, params: given, result: await as(mallory, name, given) }
      const call = (method: string, inner: unknown) => as(mallory, method.replace('cstp.', ''), inner as object)
      const answer = await callTool(name, given, call, new AbortController().signal)
      return {
        name,
        params: given,
        result: answer?.isError ? null : ((answer?.structuredContent ?? null) as Answered['result']),
      }
    } catch (error) {
      if (typeof (error as CstpError).code !== 'number') throw error
      return { name, params: given, result: null, error: String((error as CstpError).message) }
    }
  }
  const answers = await Promise.all(step.calls.map(one))
  for (const { result } of answers) {
    const id = result?.decision_id
    if (typeof id !== 'string') continue
    if (![...ids.values()].includes(id))
      ids.set(`@new${[...ids.keys()].filter((key) => key.startsWith('@new')).length}`, id)
    ids.set('@last', id)
  }
  return answers
}

/** Whether the breaker still watches for the failures that opened it. */
export const stopped = async ({ as }: World): Promise<boolean> =>
  (await as(alice, 'getCircuitState', { scope: breaker })).state !== 'closed'

/** Every review that the others would have made anyway. */
export async function settle({ as, ids }: World): Promise<void> {
  for (const [key, outcome] of Object.entries(verdicts))
    await as(bob, 'reviewDecision', { decision_id: ids.get(`@${key}`), outcome, actual_result: `${key}: ${outcome}` })
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
  'project',
  'preserve',
  'recorded_by',
  'review_by',
] as const

/** What must not depend on anything that the adversary does. */
export async function untouchable(world: World): Promise<Record<string, unknown>> {
  const { as, ids } = world
  const decisions: Record<string, unknown> = {}
  for (const [key, id] of ids) {
    if (!/^@alice/.test(key)) continue
    const found = await as(alice, 'getDecision', { id })
    decisions[key] = Object.fromEntries(kept.map((field) => [field, found[field] ?? null]))
    // A pending one may be reviewed by anybody, in their own name; a review by another agent is the one that counts.
    if (key === '@alice0') decisions.outcome = found.outcome
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
  return {
    decisions,
    ranks,
    observed: events.length,
    by_others: calibration.by_reviewer?.others,
    by_evidence: calibration.by_reviewer?.observed,
  }
}

/** All methods that there are, by their short names. */
export const names = [...methods.keys()].map((name) => name.replace('cstp.', ''))

/** A word that only the adversary writes. */
export const canary = 'Kanari'

/** Answers that let it do what a rule stops, whatever it said of itself. */
export function unstopped(answers: readonly Answered[]): unknown[] {
  return answers.filter(({ result, params }) => {
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
