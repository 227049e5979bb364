/** Evaluates rules on the past: which decisions they would have stopped, and what came of those. */
import type { DecisionRecord, Outcome } from '../../../sdk/schema/decision.ts'
import type { StoredAuditEntry } from '../../../sdk/storage/store.ts'
import { wilson } from '../calibration/figures.ts'
import { recordedAction } from './action.ts'
import { evaluatePast } from './replay.ts'
import type { PolicySet } from './set.ts'

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
  /** Those that a rule would have stopped. */
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

/** What rules say of a decision: those that fire, those of them that would stop it, and those that can't be known any more. */
interface Said {
  fired: readonly string[]
  stopping: readonly string[]
  unknown: ReadonlySet<string>
}

/** Evaluates each of the decisions that have an outcome. @param rules those of the report */
async function compare(
  rules: readonly { id: string; action: string }[],
  records: AsyncIterable<DecisionRecord>,
  say: (record: DecisionRecord) => Promise<Said>,
): Promise<Backtest> {
  const all: Outcome[] = []
  const stopped: Outcome[] = []
  const fired = new Map<string, Outcome[]>(rules.map(({ id }) => [id, []]))
  let uncertain = 0
  for await (const record of records) {
    const { outcome } = record
    if (outcome === null) continue
    all.push(outcome)
    const said = await say(record)
    if (said.unknown.size > 0) uncertain++
    const isKnown = (id: string) => !said.unknown.has(id)
    if (said.stopping.some(isKnown)) stopped.push(outcome)
    for (const id of said.fired.filter(isKnown)) fired.get(id)?.push(outcome)
  }
  return {
    all: tally(all),
    stopped: tally(stopped),
    rules: rules.map(({ id, action }) => ({ id, action, ...tally(fired.get(id)!) })),
    uncertain,
  }
}

/** Evaluates recorded decisions by a set of rules, those in shadow mode too. Decisions without an outcome are left out. */
export function backtest(set: PolicySet, records: AsyncIterable<DecisionRecord>): Promise<Backtest> {
  return compare(
    set.rules.map(({ rule }) => rule),
    records,
    async (record) => {
      const { verdict, unknown } = await evaluatePast(set, recordedAction(record), record.created_at)
      const stopping = [...verdict.asks.map(({ rule }) => rule), ...verdict.would_block]
      return { fired: verdict.fired, stopping, unknown }
    },
  )
}

/** What the shadow rules of a trail would have stopped, by id of the decision. */
async function shadowsOf(entries: AsyncIterable<StoredAuditEntry>): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  for await (const { ids, detail } of entries) {
    const rules = (detail as { would_block?: string[] } | null)?.would_block ?? []
    for (const id of rules.length > 0 ? ids : []) found.set(id, [...new Set([...(found.get(id) ?? []), ...rules])])
  }
  return found
}

/**
 * The same for rules in shadow mode, by what the entries of a trail say that they would have stopped when it was decided; null if there are none.
 */
export async function backtestShadows(
  set: PolicySet,
  entries: AsyncIterable<StoredAuditEntry>,
  records: AsyncIterable<DecisionRecord>,
): Promise<Backtest | null> {
  const rules = set.rules.flatMap(({ rule }) => (rule.mode === 'shadow' ? [rule] : []))
  if (rules.length === 0) return null
  const would_block = await shadowsOf(entries)
  return compare(rules, records, async ({ id }) => {
    const stopping = would_block.get(id) ?? []
    return { fired: stopping, stopping, unknown: new Set() }
  })
}
