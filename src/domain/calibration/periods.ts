/** Drift over what is stored: the two periods, for all decisions or for each category. */
import type { DecisionFilter, Store } from '../../../sdk/storage/store.ts'
import { type Drift, drift, historicalDays, recentDays } from './drift.ts'
import { scoredOf } from './figures.ts'

const dayMs = 86_400_000
/** Changes of Brier score and accuracy that raise an alert where nothing else is asked for. */
const defaultThresholds = { brier: 0.05, accuracy: 0.1 }

const periods = (filter: DecisionFilter, now_ms: number): { recent: DecisionFilter; historical: DecisionFilter } => ({
  recent: { ...filter, created_from_ms: now_ms - recentDays * dayMs },
  historical: { ...filter, created_to_ms: now_ms - historicalDays * dayMs },
})

export async function driftOf(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
  thresholds = defaultThresholds,
): Promise<Drift> {
  const { recent, historical } = periods(filter, now_ms)
  return drift(
    scoredOf(await store.decisions.outcomes(recent)),
    scoredOf(await store.decisions.outcomes(historical)),
    thresholds,
  )
}

/** Categories that drifted beyond what chance explains. */
export async function driftingCategories(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
): Promise<{ category: string; drift: Drift }[]> {
  const { recent, historical } = periods(filter, now_ms)
  const now = await store.decisions.outcomesBy(recent, 'category')
  const then = new Map(
    (await store.decisions.outcomesBy(historical, 'category')).map(({ value, groups }) => [value, groups]),
  )
  return now
    .map(({ value, groups }) => ({
      category: value,
      drift: drift(scoredOf(groups), scoredOf(then.get(value) ?? []), defaultThresholds),
    }))
    .filter((one) => one.drift.alerts.some(({ severity }) => severity !== 'info'))
}
