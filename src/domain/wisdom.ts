/** Wisdom: what a category's reviewed decisions taught. */
import type { PatternGroup, Store } from '../../sdk/storage/store.ts'
import { brierOf, countOf, meanOf, scoredOf } from './calibration/figures.ts'
import { round } from './calibration/report.ts'

export interface Wisdom {
  category: string
  decisions: number
  success_rate: number | null
  key_principles: { text: string; confirmations: number; example_ids: string[] }[]
  common_failure_mode: string | null
  avg_confidence: number | null
  brier_score: number | null
}

const principles = 5
const failuresRead = 20

/** What failures of a category have in common: the lesson that was drawn most often, else the latest one. */
async function failureMode(store: Store, category: string): Promise<string | null> {
  const { records } = await store.decisions.list({
    filter: { category, outcome: ['failure'] },
    sort: 'created_at',
    order: 'desc',
    offset: 0,
    limit: failuresRead,
  })
  const counts = new Map<string, number>()
  for (const { lessons, actual_result } of records) {
    const text = (lessons ?? actual_result)?.trim().replace(/\s+/g, ' ')
    if (text) counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  const [first] = [...counts].sort((a, b) => b[1] - a[1])
  return first?.[0] ?? null
}

const confirmed = (groups: readonly PatternGroup[]) =>
  groups
    .filter(({ successes, failures }) => successes > failures)
    .map(({ pattern, successes, example_ids }) => ({ text: pattern, confirmations: successes, example_ids }))

/** Categories with at least so many reviewed decisions, the largest first. */
export async function wisdom(store: Store, query: { category?: string; min_decisions: number }): Promise<Wisdom[]> {
  const filter = { status: ['reviewed' as const], ...(query.category !== undefined && { category: query.category }) }
  const categories = (await store.decisions.outcomesBy(filter, 'category')).filter(
    ({ groups }) => countOf(groups) >= query.min_decisions,
  )
  const found = await Promise.all(
    categories.map(async ({ value: category, groups }): Promise<Wisdom> => {
      const scored = scoredOf(groups)
      const figure = (value: number) => (Number.isNaN(value) ? null : round(value))
      return {
        category,
        decisions: countOf(groups),
        success_rate: figure(meanOf(scored, ({ value }) => value)),
        key_principles: confirmed(await store.decisions.patterns({ category, limit: principles })),
        common_failure_mode: await failureMode(store, category),
        avg_confidence: figure(meanOf(groups, ({ confidence }) => confidence)),
        brier_score: figure(brierOf(scored)),
      }
    }),
  )
  return found.sort((a, b) => b.decisions - a.decisions || (a.category < b.category ? -1 : 1))
}
