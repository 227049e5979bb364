/** Wisdom: what a category's reviewed decisions taught. */
import type { WisdomEntry } from '../../../sdk/schema/memory.ts'
import type { OutcomeGroup, Store } from '../../../sdk/storage/store.ts'
import { brierOf, countOf, meanOf, round, scoredOf, statedOf } from '../calibration/figures.ts'

const maxPrinciples = 5
const maxFailuresRead = 100

/** The lesson of each category's failures: the one that was drawn most often, else the latest. */
async function failureModes(store: Store, category: string | undefined): Promise<Map<string, string>> {
  const { records } = await store.decisions.list({
    filter: { outcome: ['failure'], ...(category !== undefined && { category }) },
    sort: 'created_at',
    order: 'desc',
    offset: 0,
    limit: maxFailuresRead,
  })
  const modes = new Map<string, string>()
  for (const [of, failures] of Map.groupBy(records, (record) => record.category)) {
    const counts = new Map<string, number>()
    for (const { lessons, actual_result } of failures) {
      const text = (lessons ?? actual_result)?.trim().replace(/\s+/g, ' ')
      if (text) counts.set(text, (counts.get(text) ?? 0) + 1)
    }
    const [first] = [...counts].sort((a, b) => b[1] - a[1])
    if (first) modes.set(of, first[0])
  }
  return modes
}

/**
 * Patterns that succeeded more often than they failed. What one agent recorded and only it reviewed is its own word, and makes no
 * principle for others.
 */
export const confirmedPatterns = async (store: Store, query: { category?: string; limit: number }) =>
  (await store.decisions.patterns(query)).flatMap(({ successes, failures, confirmed, ...group }) => {
    const { pattern, category, recorders, example_ids } = group
    const count = recorders > 1 ? successes : confirmed
    return count > failures ? [{ pattern, category, count, recorders, example_ids }] : []
  })

/** Categories with at least so many reviewed decisions, the largest first. */
export async function wisdom(
  store: Store,
  query: { category?: string; min_decisions: number },
): Promise<WisdomEntry[]> {
  const filter = { status: ['reviewed' as const], ...(query.category !== undefined && { category: query.category }) }
  const categories = (await store.decisions.outcomesBy(filter, 'category')).filter(
    ({ groups }) => countOf(groups) >= query.min_decisions,
  )
  const modes = await failureModes(store, query.category)
  // The latest failures of all may hold none of a category that fails seldom: its own are read.
  const modeOf = async (category: string, groups: readonly OutcomeGroup[]): Promise<string | null> => {
    if (modes.has(category) || !groups.some(({ outcome }) => outcome === 'failure')) return modes.get(category) ?? null
    return (await failureModes(store, category)).get(category) ?? null
  }
  const found = await Promise.all(
    categories.map(async ({ value: category, groups }): Promise<WisdomEntry> => {
      const scored = scoredOf(groups)
      const figure = (value: number) => (Number.isNaN(value) ? null : round(value))
      return {
        category,
        decisions: countOf(groups),
        success_rate: figure(meanOf(scored, ({ value }) => value)),
        key_principles: (await confirmedPatterns(store, { category, limit: maxPrinciples })).map(
          ({ pattern, count, example_ids }) => ({ text: pattern, confirmations: count, example_ids }),
        ),
        common_failure_mode: await modeOf(category, groups),
        avg_confidence: figure(meanOf(statedOf(groups), ({ confidence }) => confidence)),
        brier_score: figure(brierOf(scored)),
      }
    }),
  )
  return found.sort((a, b) => b.decisions - a.decisions || (a.category < b.category ? -1 : 1))
}
