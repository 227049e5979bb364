/** Evaluates rules on past decisions: which ones they would have stopped, and the outcomes of those. */
import type { DecisionRecord, Outcome } from '../../../../sdk/schema/decision.ts'
import type { StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import { wilson } from '../../../core/figures.ts'
import { recordedAction } from '../rules/action.ts'
import type { PolicySet } from '../rules/set.ts'
import { evaluatePast } from './replay.ts'

/** Counts of outcomes in a group of decisions. */
export interface Tally {
  decisions: number
  failed: number
  succeeded: number
  partial: number
  abandoned: number
  /** Failures as a share of failed, successful and partial decisions, with its 95 % interval; null if there are none. */
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
  /** Decisions for which the result of some rule is unknown; such a rule counts as not fired. */
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

/** Results of rules for a decision: those that fire, those among them that would stop it, and those whose result is unknown. */
interface Said {
  fired: readonly string[]
  stopping: readonly string[]
  unknown: ReadonlySet<string>
}

/** Evaluates each decision that has an outcome. @param rules to report */
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

/** Evaluates recorded decisions with a set of rules, including those in shadow mode. Decisions without an outcome are skipped. */
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

/** The shadow rules that would have stopped each decision according to audit entries, by decision id. */
async function shadowsOf(entries: AsyncIterable<StoredAuditEntry>): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  for await (const { ids, detail } of entries) {
    const rules = (detail as { would_block?: string[] } | null)?.would_block ?? []
    for (const id of rules.length > 0 ? ids : []) found.set(id, [...new Set([...(found.get(id) ?? []), ...rules])])
  }
  return found
}

/**
 * Backtests the rules in shadow mode, from audit entries that say which of them would have stopped a decision; null if there are none.
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
