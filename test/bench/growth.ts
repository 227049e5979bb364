/**
 * How cost grows with the decisions: rows of a run as tables with a column for each size. A run replaces the columns that it measured, and
 * each says when and under which load that was.
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { partOf, writeInto } from '../eval/pages.ts'
import { machineFacts, type Run, today } from './figures.ts'
import type { Row } from './report.ts'

const page = join(import.meta.dir, '../../docs/design/growth.md')
const sizes = [1_000, 10_000, 100_000, 1_000_000]

/** What the tables need of a run. */
export const growthParts = ['http', 'queries', 'startup', 'learning', 'memory', 'recall', 'whole']

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
const shares = {
  getDecision: 'getDecision',
  'listDecisions, newest 20': 'listDecisions, newest 20',
}
const starts = {
  'serve: spawn to /health, local embedder': 'from the start to /health, ms',
  'serve: spawn to /ready, local embedder': 'from the start to /ready, ms',
  'server with resident search, started': 'memory when started, MB',
  'server with resident search, after 4 s of reads': 'memory after searches, MB',
  'memory after all of them': 'memory after statistics and calibration, MB',
}
const commands = {
  export: '`cstp export`',
  'import of 500 lines': '`cstp import` of 500 lines',
  'reindex, hash embedder': '`cstp reindex`, embedder `hash`',
  migrate: '`cstp migrate` to an empty place',
}
const wholes = { 'a server that starts and searches': 'a server that starts and searches', ...commands }
const recalls = {
  'recall@10 by keyword': 'the ten best by keyword',
  'recall@10 by meaning': 'the ten nearest by meaning',
}

const grouped = (size: number): string => size.toLocaleString('en').replaceAll(',', ' ')

const short = (value: number | null): string =>
  value === null || Number.isNaN(value) ? '' : value >= 99.5 ? grouped(Math.round(value)) : value.toPrecision(2)

const times = ({ p50_ms, p95_ms }: Row): string => `${short(p50_ms)} · ${short(p95_ms)}`

interface Table {
  /** Opens its head, by which an earlier one is known again. */
  name: string
  rows: Record<string, string>
  servers: number
  cell(row: Row): string
}

function tablesOf(several: readonly number[]): Table[] {
  const one = { servers: 1, rows: calls }
  return [
    { ...one, name: 'ms at p50 and p95, one client, one server', cell: times },
    ...several.map((servers) => ({
      servers,
      rows: calls,
      name: `ms at p50 and p95, one client, ${servers} servers`,
      cell: times,
    })),
    {
      ...one,
      name: 'ms of the server’s CPU for a call, 32 clients',
      cell: ({ cpu_us }) => short(cpu_us && cpu_us / 1_000),
    },
    {
      ...one,
      name: 'calls a second, as a share of a plain echo (PostgreSQL: of a plain select)',
      rows: shares,
      cell: ({ ratio }) => short(ratio),
    },
    { ...one, name: 'start and memory', rows: starts, cell: ({ rss_mb, p50_ms }) => short(rss_mb ?? p50_ms) },
    { ...one, name: 'peak memory, MB', rows: wholes, cell: ({ rss_mb }) => short(rss_mb) },
    { ...one, name: 'seconds for all', rows: commands, cell: ({ p50_ms }) => short(p50_ms && p50_ms / 1_000) },
    {
      ...one,
      name: 'CPU, ms for each decision',
      rows: commands,
      cell: ({ cpu_us }) => short(cpu_us && cpu_us / 1_000),
    },
    { ...one, name: 'found in segments, of what looking at all finds', rows: recalls, cell: found },
  ]
}

/** A share, and how many scores were others. */
const found = ({ ratio, failures }: Row): string =>
  `${ratio === null ? '' : `${(100 * ratio).toFixed(1)} %`}${failures > 0 ? `, ${failures} scores differ` : ''}`

const unmeasured = 'not measured'
const measuredOn = 'measured, load before and after'

/** Cells of an earlier table by the name of the row, then by size. */
type Cells = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The tables of a page by their names. */
function earlierOf(text: string): Map<string, Cells> {
  const tables = new Map<string, Cells>()
  for (const block of text.split('\n\n')) {
    const lines = block.split('\n').filter((line) => line.startsWith('| '))
    const [head, , ...rows] = lines.map((line) => line.slice(2, -2).split(' | '))
    if (head === undefined) continue
    const cells = rows.map(
      ([name, ...values]) => [name!, new Map(values.map((value, at) => [head[at + 1]!, value]))] as const,
    )
    tables.set(head[0]!, new Map(cells))
  }
  return tables
}

/** A row's name may go on with how it was measured. */
const isOf = (row: Row, what: string): boolean => row.what === what || row.what.startsWith(`${what}, `)

/** One table, or null if nothing of it was ever measured. */
function tableText(
  { name, rows, servers, cell }: Table,
  run: readonly Row[],
  stamp: string,
  earlier: Cells,
): string | null {
  const of = (what: string, size: number) =>
    run.find((row) => isOf(row, what) && row.size === size && row.servers === servers && cell(row) !== '')
  const isNew = (size: number) => Object.keys(rows).some((what) => of(what, size))
  const column = (what: string | null, shown: string, size: number): string => {
    if (!isNew(size)) return earlier.get(shown)?.get(grouped(size)) ?? unmeasured
    if (what === null) return stamp
    const row = of(what, size)
    return row === undefined ? unmeasured : cell(row)
  }
  const line = (what: string | null, shown: string) => [shown, ...sizes.map((size) => column(what, shown, size))]
  const lines = [line(null, measuredOn), ...Object.entries(rows).map(([what, shown]) => line(what, shown))]
  // With several servers only some calls are measured.
  const known = lines.filter(([, ...cells]) => cells.some((one) => one !== unmeasured && one !== ''))
  if (known.length === 0) return null
  const shown = servers > 1 ? known : lines
  const head = [name, ...sizes.map(grouped)]
  return [head, ['---', ...sizes.map(() => '---:')], ...shown].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/**
 * The tables of a run, with the columns of earlier ones for what it did not measure.
 * @param earlier what the page shows; figures of another machine or runtime are not kept
 * @param stamp when this run measured, and under which load
 */
export function growthTables(rows: readonly Row[], facts: string, stamp: string, earlier = ''): string {
  const known = earlier.startsWith(facts) ? earlierOf(earlier) : new Map<string, Cells>()
  const shown = [...known.keys()].flatMap((name) => /one client, (\d+) servers$/.exec(name)?.[1] ?? []).map(Number)
  const several = [...new Set([...rows.map(({ servers }) => servers ?? 1), ...shown])].filter((servers) => servers > 1)
  const tables = tablesOf(several.sort((a, b) => a - b)).map((table) =>
    tableText(table, rows, stamp, known.get(table.name) ?? new Map()),
  )
  return [facts, ...tables.filter((table) => table !== null)].join('\n\n')
}

export async function writeGrowth(rows: readonly Row[], { before, store }: Run): Promise<void> {
  const name = `growth-${store}`
  const earlier = partOf(await Bun.file(page).text(), name) ?? ''
  const stamp = `${today()}, ${before.toFixed(1)} · ${loadavg()[0]!.toFixed(1)}`
  await writeInto(page, name, growthTables(rows, machineFacts(), stamp, earlier))
}
