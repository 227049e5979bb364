/** The part of the benchmark that measures segments runs, and gives a row with a ratio for each leg. */
import { expect, test } from 'bun:test'
import { segments } from './parts/segments.ts'
import type { Row } from './report.ts'

test('each leg is measured in memory and with segments', async () => {
  const rows: Row[] = []
  const add = (row: Row) => {
    rows.push(row)
    return row
  }
  await segments({ sizes: [200], add }, 10)
  const named = (where: string) => rows.filter(({ what }) => what.endsWith(where))
  expect(named('all in memory')).toHaveLength(3)
  expect(named('tail and segments')).toHaveLength(3)
  for (const row of named('tail and segments')) {
    expect(row.ratio).toBeGreaterThan(0)
    expect(row.failures).toBe(0)
  }
}, 120_000)
