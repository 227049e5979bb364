/** How cost grows with the decisions: rows of a run as tables with a column for each size, and what was not measured said so. */
import { join } from 'node:path'
import { writeInto } from '../eval/pages.ts'
import { machine, type Run } from './figures.ts'
import type { Row } from './report.ts'

const page = join(import.meta.dir, '../../docs/design/growth.md')
const columns = [1_000, 10_000, 100_000, 1_000_000]

/** What the tables need of a run. */
export const growthParts = ['http', 'queries', 'startup', 'learning', 'memory']

/** Names of rows, and as what the page shows them. */
const calls = {
  getDecision: 'getDecision',
  'listDecisions, newest 20': 'listDecisions, newest 20',
  'listDecisions, a category by confidence': 'listDecisions, a category by confidence',
  'keyword, resident': 'queryDecisions, `keyword`',
  'semantic, resident': 'queryDecisions, `semantic`, question known',
  'hybrid, resident': 'queryDecisions, `hybrid`, question known',
  'hybrid with filters, resident': 'the same with filters',
  'hybrid + embedding, resident': 'queryDecisions, `hybrid`, with its embedding',
  getStats: 'getStats',
  ready: 'ready',
  getSessionContext: 'getSessionContext',
  getCalibration: 'getCalibration',
}
const starts = {
  'serve: spawn to /health, local embedder': 'from the start to /health, ms',
  'serve: spawn to /ready, local embedder': 'from the start to /ready, ms',
}
const memory = {
  'server with resident search, started': 'memory when started, MB',
  'server with resident search, after 4 s of reads': 'memory after searches, MB',
  'memory after all of them': 'memory after statistics and calibration, MB',
}

const grouped = (size: number): string => size.toLocaleString('en').replaceAll(',', ' ')

const short = (value: number | null): string =>
  value === null ? '' : value >= 99.5 ? String(Math.round(value)) : value.toPrecision(2)

function table(
  rows: readonly Row[],
  names: Record<string, string>,
  servers: number,
  cell: (row: Row) => string,
): string {
  const head = `| ${servers > 1 ? `${servers} servers` : 'one server'} | ${columns.map(grouped).join(' | ')} |`
  const lines = Object.entries(names).flatMap(([what, shown]) => {
    const of = (size: number) => rows.find((row) => row.what === what && row.size === size && row.servers === servers)
    const cells = columns.map((size) => {
      const row = of(size)
      return row === undefined ? 'not measured' : cell(row)
    })
    // With several servers only some calls are measured.
    return servers > 1 && !columns.some(of) ? [] : [`| ${[shown, ...cells].join(' | ')} |`]
  })
  return [head, `| --- |${' ---: |'.repeat(columns.length)}`, ...lines].join('\n')
}

export function growthTables(rows: readonly Row[]): string {
  const several = [...new Set(rows.map(({ servers }) => servers ?? 1))].filter((servers) => servers > 1)
  const times = (row: Row) => `${short(row.p50_ms)} · ${short(row.p95_ms)}`
  const missing = columns.filter((size) => !rows.some((row) => row.size === size))
  return [
    'Milliseconds at p50 and p95 with one client.',
    table(rows, calls, 1, times),
    ...several.map((servers) => table(rows, calls, servers, times)),
    'Milliseconds of CPU that the server takes for a call, with 32 clients.',
    table(rows, calls, 1, (row) => short(row.cpu_us === null ? null : row.cpu_us / 1_000)),
    'Start and memory.',
    `${table(rows, starts, 1, (row) => short(row.p50_ms))}\n${lines(table(rows, memory, 1, (row) => short(row.rss_mb)))}`,
    ...(missing.length === 0 ? [] : [`This run measured nothing at ${missing.map(grouped).join(' and ')} decisions.`]),
  ].join('\n\n')
}

/** The lines of a table below its head. */
const lines = (text: string): string => text.split('\n').slice(2).join('\n')

export const writeGrowth = (rows: readonly Row[], run: Run): Promise<void> =>
  writeInto(page, `growth-${run.store}`, `${machine(run)}\n\n${growthTables(rows)}`)
