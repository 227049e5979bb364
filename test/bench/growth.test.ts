/** The page of growth shows what was measured, size by size, each with its date, and says what was not. */
import { expect, test } from 'bun:test'
import { growthParts, growthTables } from './growth.ts'
import { rowOf } from './report.ts'

const facts = '| measured on | |\n| --- | --- |\n| processor | one |'
const get = (size: number, p50_ms: number, servers = 1) =>
  rowOf('http', 'getDecision', { size, servers, p50_ms, p95_ms: 2 * p50_ms, cpu_us: 40 })
const text = growthTables(
  [
    get(1_000, 0.5),
    get(100_000, 0.75),
    get(100_000, 0.125, 3),
    get(1_000, 99.6, 3),
    rowOf('queries', 'keyword, resident', { size: 1_000, p50_ms: 0.25, p95_ms: 0.5 }),
    rowOf('memory', 'server with resident search, started', { size: 1_000, rss_mb: 123.4 }),
    rowOf('recall', 'recall@10 by meaning, 50 questions, 2 segments', { size: 100_000, ratio: 0.998, failures: 2 }),
    rowOf('whole', 'migrate', { size: 1_000, p50_ms: 2_500, rss_mb: 200, cpu_us: 1_500 }),
  ],
  facts,
  'on Monday',
)

test('a call is shown at each size, with one server and with several; what was not measured says so', () => {
  expect(text).toContain('| ms at p50 and p95, one client, one server | 1 000 | 10 000 | 100 000 | 1 000 000 |')
  expect(text).toContain('| measured, load before and after | on Monday | not measured | on Monday | not measured |')
  expect(text).toContain('| getDecision | 0.50 · 1.0 | not measured | 0.75 · 1.5 | not measured |')
  expect(text).toContain('| queryDecisions, `keyword` | 0.25 · 0.50 | not measured | not measured | not measured |')
  expect(text).toContain('| ms at p50 and p95, one client, 3 servers | 1 000 | 10 000 | 100 000 | 1 000 000 |')
  expect(text).toContain('| getDecision | 100 · 199 | not measured | 0.13 · 0.25 | not measured |')
  expect(text).toContain('| getDecision | 0.040 | not measured | 0.040 | not measured |')
  expect(text).toContain('| memory when started, MB | 123 | not measured | not measured | not measured |')
  expect(text).toContain(
    '| the ten nearest by meaning | not measured | not measured | 99.8 %, 2 scores differ | not measured |',
  )
  expect(text.split('3 servers')[1]!.split('\n\n')[0]).not.toContain('getStats')
})

test('a run of one size replaces its column in the tables that it measured, and leaves the others with their dates', () => {
  const migrated = rowOf('whole', 'migrate', { size: 1_000_000, p50_ms: 900_000, rss_mb: 800, cpu_us: 900 })
  const later = growthTables([get(1_000, 0.25), migrated], facts, 'on Friday', text)
  expect(later).toContain('| measured, load before and after | on Friday | not measured | on Monday | not measured |')
  expect(later).toContain('| getDecision | 0.25 · 0.50 | not measured | 0.75 · 1.5 | not measured |')
  // A column is of one run: what that did not measure is not taken from an earlier one.
  expect(later).toContain('| queryDecisions, `keyword` | not measured | not measured | not measured | not measured |')
  expect(later).toContain('| measured, load before and after | on Monday | not measured | not measured | on Friday |')
  expect(later).toContain('| `cstp migrate` to an empty place | 200 | not measured | not measured | 800 |')
  expect(later).toContain('| getDecision | 100 · 199 | not measured | 0.13 · 0.25 | not measured |')
  expect(growthTables([], facts, 'on Sunday', later)).toBe(later)
})

test('figures of another machine are not kept', () => {
  const other = growthTables([get(1_000, 0.25)], facts.replace('one', 'two'), 'on Friday', text)
  expect(other).not.toContain('Monday')
})

test('every part that the page needs is one of the benchmark', async () => {
  const main = await Bun.file(new URL('main.ts', import.meta.url)).text()
  for (const part of growthParts) expect(main).toContain(`  ${part},\n`)
})
