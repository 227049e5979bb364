/** The page of growth shows what a run measured, size by size, and says what it did not. */
import { expect, test } from 'bun:test'
import { growthParts, growthTables } from './growth.ts'
import { rowOf } from './report.ts'

test('a call is shown at each size, with one server and with several; a size without figures is named', () => {
  const get = (size: number, p50_ms: number, servers = 1) =>
    rowOf('http', 'getDecision', { size, servers, p50_ms, p95_ms: 2 * p50_ms, cpu_us: 40 })
  const text = growthTables([
    get(1_000, 0.5),
    get(100_000, 0.75),
    get(100_000, 0.125, 3),
    get(1_000, 99.6, 3),
    rowOf('memory', 'server with resident search, started', { size: 1_000, rss_mb: 123.4 }),
  ])
  expect(text).toContain('| one server | 1 000 | 10 000 | 100 000 | 1 000 000 |')
  expect(text).toContain('| getDecision | 0.50 · 1.0 | not measured | 0.75 · 1.5 | not measured |')
  expect(text).toContain('| 3 servers | 1 000 | 10 000 | 100 000 | 1 000 000 |')
  expect(text).toContain('| getDecision | 100 · 199 | not measured | 0.13 · 0.25 | not measured |')
  expect(text).toContain('| getDecision | 0.040 | not measured | 0.040 | not measured |')
  expect(text).toContain('| memory when started, MB | 123 | not measured | not measured | not measured |')
  expect(text.split('3 servers')[1]!.split('Milliseconds')[0]).not.toContain('getStats')
  expect(text).toContain('This run measured nothing at 10 000 and 1 000 000 decisions.')
})

test('every part that the page needs is one of the benchmark', async () => {
  const main = await Bun.file(new URL('main.ts', import.meta.url)).text()
  for (const part of growthParts) expect(main).toContain(`  ${part},\n`)
})
