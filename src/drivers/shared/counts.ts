/** Counts of decisions that both engines answer in the same way. */
import type { CountFilter, GroupKey } from '../../../sdk/storage/decisions.ts'
import { isEmptyFilter } from '../../../sdk/storage/filter.ts'

export type Row = Record<string, string | number | null>

/** Keys whose numbers of all decisions triggers keep: counting a hundred thousand rows takes a tenth of a second for each key. */
const totalKeys: readonly GroupKey[] = ['category', 'stakes', 'status', 'outcome', 'agent', 'project', 'day', 'tag']

/** Whether the kept numbers answer it. */
export const isKept = (filter: CountFilter, keys: readonly GroupKey[]): boolean =>
  isEmptyFilter(filter) && keys.length <= 1 && keys.every((key) => totalKeys.includes(key))

/**
 * The groups of all decisions by a key, or their number.
 * @param totals the kept numbers of a key, as the port has its values
 */
export function groupsOfAll(key: GroupKey | undefined, totals: (key: GroupKey) => { value: string; count: number }[]) {
  // Each decision has its stakes.
  const total = totals('stakes').reduce((sum, { count }) => sum + count, 0)
  if (key === undefined) return total === 0 ? [] : [{ count: total }]
  const own = totals(key)
  const groups: Row[] = own.map(({ value, count }) => ({ [key]: value, count }))
  const without = own.reduce((left, { count }) => left - count, total)
  return without === 0 || key === 'tag' ? groups : [...groups, { [key]: null, count: without }]
}

const sums = ['count', 'uses', 'strength'] as const

/**
 * Groups by result: decisions without one, which are most, are counted by their other keys alone, and only those that share one are looked at.
 * @param all the groups by the other keys
 * @param shared the groups of those decisions whose result another one has too, by all keys
 */
export function withResults(all: readonly Row[], shared: readonly Row[], keys: readonly string[]): Row[] {
  const others = keys.filter((key) => key !== 'result')
  const nameOf = (row: Row) => JSON.stringify(others.map((key) => row[key]))
  const alone = new Map(all.map((row) => [nameOf(row), { ...row, result: null } as Row]))
  for (const row of shared) {
    const rest = alone.get(nameOf(row))
    if (rest) for (const sum of sums) if (sum in rest) rest[sum] = Number(rest[sum]) - Number(row[sum])
  }
  return [...[...alone.values()].filter(({ count }) => Number(count) > 0), ...shared]
}
