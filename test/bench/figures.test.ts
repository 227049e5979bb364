/** The page of figures keeps what a run did not measure, and says of each table when it was measured. */
import { expect, test } from 'bun:test'
import { merged } from './figures.ts'
import { rowOf } from './report.ts'

const facts = '| measured on | |\n| --- | --- |\n| processor | one |'
const memory = rowOf('memory', 'server, started', { rss_mb: 120 })
const first = merged('', [rowOf('http', 'getDecision', { p50_ms: 0.5 }), memory], facts, 'Measured on Monday.')

test('a run of one part replaces the table of that part alone', () => {
  const second = merged(first, [rowOf('http', 'getDecision', { p50_ms: 0.25 })], facts, 'Measured on Tuesday.')
  expect(second).toContain('Measured on Tuesday.')
  expect(second).toContain('| 0.250 |')
  expect(second).not.toContain('| 0.500 |')
  expect(second.split('Measured on Monday.')).toHaveLength(2)
  expect(second.split('Measured on Monday.')[1]).toContain('server, started')
})

test('the order of tables does not depend on the order of runs', () => {
  const [http, others] = [[rowOf('http', 'getDecision')], [memory]]
  const one = merged(merged('', http, facts, 'Measured.'), others, facts, 'Measured.')
  const other = merged(merged('', others, facts, 'Measured.'), http, facts, 'Measured.')
  expect(one).toBe(other)
  expect(one.indexOf('### Reads over HTTP')).toBeLessThan(one.indexOf('### Resident memory'))
})

test('figures of another machine are not kept', () => {
  const second = merged(first, [rowOf('http', 'getDecision')], facts.replace('one', 'two'), 'Measured.')
  expect(second).not.toContain('server, started')
})
