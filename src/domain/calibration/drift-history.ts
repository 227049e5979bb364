/** Drift over time: what a comparison of the periods would have found on each of the last weeks, with the reviews that were known then. */
import type { DecisionFilter, Store, TimedOutcomeGroup } from '../../../sdk/storage/store.ts'
import { type DriftPoint, driftPoint, historicalDays, recentDays, type Thresholds } from './drift.ts'
import { scoredOf } from './figures.ts'

const dayMs = 86_400_000
const weekMs = 7 * dayMs

/** Ascending, each once. */
const edgesOf = (times: readonly number[]): number[] => [...new Set(times)].sort((a, b) => a - b)

/**
 * One comparison a week, the last of them now, oldest first. A decision counts from its last review on.
 * @param breathe lets others have their turn
 */
export async function driftHistory(
  { store, breathe }: { store: Store; breathe(): Promise<void> },
  filter: DecisionFilter,
  now_ms: number,
  thresholds: Thresholds,
  weeks: number,
): Promise<(DriftPoint & { at: string })[]> {
  if (weeks === 0) return []
  const instants = Array.from({ length: weeks }, (_, at) => now_ms - (weeks - 1 - at) * weekMs)
  // An edge is the first millisecond of what lies behind it.
  const recentFrom = (at: number) => at - recentDays * dayMs
  const historicalEnd = (at: number) => at - historicalDays * dayMs + 1
  const end = (at: number) => at + 1
  const created_ms = edgesOf(instants.flatMap((at) => [recentFrom(at), historicalEnd(at), end(at)]))
  const reviewed_ms = instants.map(end)
  const groups = await store.decisions.outcomesOver(filter, { created_ms, reviewed_ms })
  const place = new Map(created_ms.map((edge, at) => [edge, at + 1]))
  const points: (DriftPoint & { at: string })[] = []
  for (const [number, at] of instants.entries()) {
    // As many edges lie before the instant as instants do.
    const known = groups.filter(({ reviewed }) => reviewed <= number)
    const created = (test: (group: TimedOutcomeGroup) => boolean) => scoredOf(known.filter(test))
    const recent = created((one) => one.created >= place.get(recentFrom(at))! && one.created < place.get(end(at))!)
    const historical = created((one) => one.created < place.get(historicalEnd(at))!)
    points.push({ at: new Date(at).toISOString(), ...driftPoint(recent, historical, thresholds) })
    await breathe()
  }
  return points
}
