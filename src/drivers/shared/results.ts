/** Groups by result: decisions without one, which are most, are counted by their other keys alone, and only those that share one are looked at. */
type Row = Record<string, string | number | null>

const sums = ['count', 'uses', 'strength'] as const

/**
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
