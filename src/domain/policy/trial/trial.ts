/** Tries rules that are not in force on the past: on the latest checks of the audit trail, and on the latest decisions with an outcome. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import type { Store, StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import { checkOf, isDryRun } from '../../../core/audit.ts'
import { compileSet, type PolicySet } from '../rules/set.ts'
import { type Backtest, backtest, backtestShadows } from './backtest.ts'
import { type Replayed, replayAll } from './replay.ts'

/** Most audit entries and decisions that a trial reads. */
export const mostEntries = 2_000
export const mostDecisions = 5_000
/** Most changed verdicts that are listed; the others are only counted. */
export const mostChanged = 50

const pageSize = 500
/** So many are evaluated at once; a draft may have a thousand rules. */
const atOnce = 4

interface TrialTools {
  store: Pick<Store, 'audit' | 'decisions'>
  /** Resolves when other calls have had their turn. */
  yieldToEventLoop(): Promise<void>
}

/** The rules in force with those of a draft added, which replace rules of the same id and are not in shadow mode. */
export function overlaid(inForce: PolicySet, draft: PolicySet): PolicySet {
  const own = new Map(draft.rules.map(({ rule }) => [rule.id, rule.mode === 'shadow' ? without(rule) : rule]))
  const kept = inForce.rules.map(({ rule }) => {
    const replaced = own.get(rule.id)
    own.delete(rule.id)
    return replaced ?? rule
  })
  return compileSet([...kept, ...own.values()], inForce.breakers)
}

/** A rule without shadow mode, to find out what it would stop. */
function without<Rule extends { mode?: unknown }>(rule: Rule): Rule {
  const { mode: _, ...rest } = rule
  return rest as Rule
}

/** The items, with a turn for other calls in between. */
async function* inTurns<T>(items: readonly T[], yieldToEventLoop: () => Promise<void>): AsyncGenerator<T> {
  for (const [at, item] of items.entries()) {
    if (at % atOnce === 0) await yieldToEventLoop()
    yield item
  }
}

/** The newest audit entries since a time. A dry run is not a check of an action. */
async function* entriesOf({ store, yieldToEventLoop }: TrialTools, since_ms: number): AsyncGenerator<StoredAuditEntry> {
  let cursor: number | undefined
  for (let left = mostEntries; left > 0; ) {
    const limit = Math.min(pageSize, left)
    const page = await store.audit.list({ since_ms, limit, ...(cursor !== undefined && { cursor }) })
    yield* inTurns(
      page.filter((entry) => !isDryRun(entry)),
      yieldToEventLoop,
    )
    left -= page.length
    cursor = page.at(-1)?.seq
    if (page.length < limit) return
  }
}

/** The newest decisions that have an outcome. */
async function* reviewedOf({ store, yieldToEventLoop }: TrialTools): AsyncGenerator<DecisionRecord> {
  for (let offset = 0; offset < mostDecisions; offset += pageSize) {
    const { texts } = await store.decisions.list({
      filter: { status: ['reviewed'] },
      sort: 'created_at',
      order: 'desc',
      offset,
      limit: pageSize,
    })
    for await (const text of inTurns(texts, yieldToEventLoop)) yield parseRecord(text)
    if (texts.length < pageSize) return
  }
}

export interface Trial {
  replay: {
    /** Checks that were evaluated again. */
    evaluations: number
    /** How often each rule of the draft fires on them. */
    fired: { id: string; evaluations: number }[]
    changed: number
    /** Those of them that were not stopped and would be, and their agents. */
    stopped: number
    agents: number
    /** The newest checks that get a different verdict. */
    examples: Replayed[]
    uncertain: number
  }
  backtest: Backtest
}

/** @param draft the rules to try: evaluated together with those in force, and reported */
export async function tryDraft(
  tools: TrialTools,
  inForce: PolicySet,
  draft: PolicySet,
  since_ms: number,
): Promise<Trial> {
  const set = overlaid(inForce, draft)
  const checks = new Map<string, Replayed[]>()
  await replayAll(
    set,
    async () => null,
    entriesOf(tools, since_ms),
    (one) => void checks.set(checkOf(one), [...(checks.get(checkOf(one)) ?? []), one]),
  )
  const all = [...checks.values()]
  const count = (passes: (one: Replayed) => boolean) => all.filter((those) => those.some(passes)).length
  const changed = all.flatMap((those) => those.find(({ before, after }) => before !== after) ?? [])
  const passes = ['pass', 'warn']
  const stopped = changed.filter(({ before, after }) => passes.includes(before) && !passes.includes(after))
  return {
    replay: {
      evaluations: all.length,
      stopped: stopped.length,
      agents: new Set(stopped.map(({ agent }) => agent)).size,
      fired: draft.rules.map(({ rule: { id } }) => ({
        id,
        evaluations: count(({ rules_after }) => rules_after.includes(id)),
      })),
      changed: changed.length,
      examples: changed.slice(0, mostChanged),
      uncertain: count(({ uncertain }) => uncertain.length > 0),
    },
    backtest: await backtest(draft, reviewedOf(tools)),
  }
}

/** The decisions that rules in shadow mode would have stopped since a time, with their outcomes; null if there are no such rules. */
export const shadowResults = (tools: TrialTools, inForce: PolicySet, since_ms: number): Promise<Backtest | null> =>
  backtestShadows(inForce, entriesOf(tools, since_ms), reviewedOf(tools))
