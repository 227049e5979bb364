/** Evaluates rules on the past: what the stored inputs would get today, and what a rule would have stopped. */
import type { DecisionRecord, Outcome } from '../../../sdk/schema/decision.ts'
import type { StoredAuditEntry } from '../../../sdk/storage/store.ts'
import { wilson } from '../calibration/figures.ts'
import type { Action } from './action.ts'
import { recordedAction } from './action.ts'
import { evaluate, type Verdict } from './evaluate.ts'
import { breakerId } from './guard.ts'
import type { History } from './history.ts'
import type { PolicySet } from './set.ts'

/** A history of which only the time is known; a rule that asks for more can't be evaluated. */
function unknownHistory(at: string): History {
  const unknown = async (): Promise<never> => {
    throw new Error('past state is not known')
  }
  return {
    now: () => Date.parse(at),
    similar: unknown,
    count: unknown,
    aggregate: unknown,
    fact: unknown,
    evidence: unknown,
  }
}

/** Evaluates an action of the past. `unknown` are the rules that depend on past state. */
async function evaluatePast(
  set: PolicySet,
  action: Action,
  at: string,
): Promise<{ verdict: Verdict; unknown: Set<string> }> {
  const unknown = new Set<string>()
  const verdict = await evaluate(set.rules, action, unknownHistory(at), (rule) => void unknown.add(rule))
  return { verdict, unknown }
}

type Answer = 'pass' | 'warn' | 'block'

export interface Replayed {
  seq: number
  at: string
  agent: string
  method: string
  description: string
  before: Answer
  after: Answer
  /** Rules and breakers that fired then, and those that would fire today. */
  rules_before: string[]
  rules_after: string[]
  /** Why the verdict of today is not certain; empty if it is. */
  uncertain: ('redacted text' | 'past state')[]
}

interface Detail {
  input: Action
  redacted: boolean
  violations: string[]
  warnings: string[]
}

const isDetail = (detail: unknown): detail is Detail =>
  detail !== null &&
  typeof detail === 'object' &&
  'input' in detail &&
  'violations' in detail &&
  Array.isArray(detail.violations) &&
  'warnings' in detail

const answerOf = (blocks: number, warnings: number): Answer => (blocks > 0 ? 'block' : warnings > 0 ? 'warn' : 'pass')

/** Evaluates an entry of the audit trail by the current rules; null if it is not an evaluation. */
export async function replay(set: PolicySet, entry: StoredAuditEntry): Promise<Replayed | null> {
  const { seq, at, agent, method, detail } = entry
  if (!isDetail(detail)) return null
  const { verdict, unknown } = await evaluatePast(set, detail.input, at)
  const then = new Set([...detail.violations, ...detail.warnings])
  // A rule that depends on past state is assumed to answer as it did; so is a breaker, while it is declared.
  const counts = ({ guardrail_id: id }: { guardrail_id: string }) => !unknown.has(id) || then.has(id)
  const breakers = new Set(set.breakers.map(({ scope }) => breakerId(scope)))
  const stopped = detail.violations.filter((id) => breakers.has(id))
  const blocks = [...verdict.violations.filter(counts).map((one) => one.guardrail_id), ...stopped]
  const warnings = verdict.warnings.filter(counts).map((one) => one.guardrail_id)
  const onPastState = unknown.size > 0 || detail.violations.some((id) => id.startsWith(breakerId('')))
  return {
    seq,
    at,
    agent,
    method,
    description: detail.input.description,
    before: answerOf(detail.violations.length, detail.warnings.length),
    after: answerOf(blocks.length, warnings.length),
    rules_before: [...then],
    rules_after: [...blocks, ...warnings],
    uncertain: [
      ...(detail.redacted ? (['redacted text'] as const) : []),
      ...(onPastState ? (['past state'] as const) : []),
    ],
  }
}

/** The outcomes of the decisions that something applied to. */
export interface Tally {
  decisions: number
  failed: number
  succeeded: number
  partial: number
  abandoned: number
  /** Share that failed of those that failed, succeeded or partly did; with its 95 % interval. Null if there are none. */
  failure_rate: number | null
  failure_low: number | null
  failure_high: number | null
}

export interface Backtest {
  /** Every reviewed decision. */
  all: Tally
  /** Those that a block rule would have stopped. */
  stopped: Tally
  rules: ({ id: string; action: string } & Tally)[]
  /** Decisions on which some rule depends on past state; such a rule counts as not fired. */
  uncertain: number
}

function tally(outcomes: readonly Outcome[]): Tally {
  const count = (outcome: Outcome) => outcomes.filter((one) => one === outcome).length
  const [failed, succeeded, partial] = [count('failure'), count('success'), count('partial')]
  const scored = failed + succeeded + partial
  const interval = wilson(failed, scored)
  return {
    decisions: outcomes.length,
    failed,
    succeeded,
    partial,
    abandoned: count('abandoned'),
    failure_rate: scored === 0 ? null : failed / scored,
    failure_low: interval?.low ?? null,
    failure_high: interval?.high ?? null,
  }
}

/** Evaluates recorded decisions by a set of rules. Those without an outcome are left out. */
export async function backtest(set: PolicySet, records: AsyncIterable<DecisionRecord>): Promise<Backtest> {
  const all: Outcome[] = []
  const stopped: Outcome[] = []
  const fired = new Map<string, Outcome[]>(set.rules.map(({ rule }) => [rule.id, []]))
  let uncertain = 0
  for await (const record of records) {
    if (record.outcome === null) continue
    const { outcome } = record
    all.push(outcome)
    const { verdict, unknown } = await evaluatePast(set, recordedAction(record), record.created_at)
    if (unknown.size > 0) uncertain++
    const isKnown = (id: string) => !unknown.has(id)
    if (verdict.violations.some(({ guardrail_id }) => isKnown(guardrail_id))) stopped.push(outcome)
    for (const id of verdict.fired.filter(isKnown)) fired.get(id)!.push(outcome)
  }
  return {
    all: tally(all),
    stopped: tally(stopped),
    rules: set.rules.map(({ rule: { id, action } }) => ({ id, action, ...tally(fired.get(id)!) })),
    uncertain,
  }
}
