/** How many decisions stand at each level. */
import * as v from 'valibot'
import type { DecisionFilter, Store } from '../../sdk/storage/store.ts'
import { type Level, levels, ofLevel } from './compaction.ts'

const d = v.description

export const LevelCounts = v.object({
  full: v.pipe(v.number(), d('Younger than 7 days, pending or preserved.')),
  summary: v.pipe(v.number(), d('Younger than 30 days.')),
  digest: v.pipe(v.number(), d('Younger than 90 days.')),
  wisdom: v.pipe(v.number(), d('Older.')),
})

export async function countLevels(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
): Promise<{ levels: Record<Level, number>; preserved: number }> {
  const { decisions } = store
  const counts: Record<Level, number> = { full: 0, summary: 0, digest: 0, wisdom: 0 }
  for (const level of levels) counts[level] = await decisions.count({ ...filter, ...ofLevel(level, now_ms) })
  const preserved = await decisions.count({ ...filter, status: ['reviewed'], preserve: true })
  counts.full += preserved + (await decisions.count({ ...filter, status: ['pending'] }))
  return { levels: counts, preserved }
}
