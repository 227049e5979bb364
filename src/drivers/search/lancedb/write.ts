/** Writes segments: a new one from the tail and the small segments before it, and removals from the others. */
import type { Table } from '@lancedb/lancedb'
import { addressesIn } from './columns.ts'
import { anyOf } from './filter.ts'
import { type FlatWriter, flatFolder, openFlatWriter, writeGone } from './flat.ts'
import type { Engine } from './library.ts'
import type { SegmentFacts } from './manifest.ts'
import type { Text } from './reader.ts'
import { type Row, rowSchema, sidesOf, toTable } from './rows.ts'
import type { Segment } from './segment.ts'
import { count, wordsOf, wordsTable } from './words.ts'

/** Words, and rows of other segments, that are prepared at once: more would block the process. */
const WORDS = 20_000
const COPIED = 4_000
const ADDRESSES = 100_000
const DAY_MS = 86_400_000
/** Ids per removal. */
const REMOVED = 1_000
/** Bits of a dimension in the vector index: with one, five times as many candidates must be compared by their full vectors, for as much recall. */
const VECTOR_BITS = 4
/** The longest term has 64 characters; LanceDB counts bytes. */
const LONGEST_TERM = 1_024

export interface Plan {
  name: string
  dimensions: number
  /** From this many vectors on, searches use an approximate index. */
  index_from: number
  /** New rows, a few at a time, so that they are not all in memory twice. */
  rows: Iterable<Row[]> | AsyncIterable<Row[]>
  /** Segments that are merged into the new one. */
  merged: readonly Segment[]
}

/** Null if it would be empty. */
export async function writeSegment(engine: Engine, plan: Plan): Promise<SegmentFacts | null> {
  const { connection, folder } = engine
  const flat = folder === null ? null : await openFlatWriter(flatFolder(folder, plan.name), plan.dimensions)
  let made: SegmentFacts | null
  try {
    made = await fill(engine, plan, flat)
  } finally {
    await flat?.close()
  }
  // Only now, because the plain files are in the folder of the table.
  if (made === null) await connection.dropTable(plan.name)
  return made
}

async function fill(engine: Engine, plan: Plan, flat: FlatWriter | null): Promise<SegmentFacts | null> {
  const { arrow, connection } = engine
  const { name, dimensions, merged } = plan
  const rows = await connection.createEmptyTable(name, rowSchema(arrow, dimensions))
  const counts = new Map<string, number>()
  const facts = { decisions: 0, indexed: 0, length: 0 }
  for await (const some of plan.rows) {
    // All of the rows may be gone.
    if (some.length === 0) continue
    const table = toTable(arrow, some, dimensions)
    const lengths = table.getChild('length')!
    some.forEach(({ value }, row) => {
      count(counts, value.terms, 1)
      facts.decisions++
      facts.indexed += value.vectors === null ? 0 : 1
      facts.length += Number(lengths.get(row))
    })
    await rows.add(table)
    await flat?.add(table)
  }
  for (const segment of merged) {
    await copy(segment, rows, flat)
    for (const [word, held] of await segment.counts()) counts.set(word, (counts.get(word) ?? 0) + held)
    facts.decisions += segment.facts.decisions
    facts.indexed += segment.facts.indexed
    facts.length += segment.facts.length
  }
  if (facts.decisions === 0) return null
  if ((await rows.countRows()) !== facts.decisions) throw new Error('A segment lacks rows')
  // Rows are written a few at a time and read fastest from one fragment. A cut-off time in the future also removes the old fragments, which
  // have no readers yet.
  await rows.optimize({ cleanupOlderThan: new Date(Date.now() + DAY_MS) })
  await flat?.finish(await runsOf(rows, facts.decisions))
  // The data collected for the plain files is not needed while the indexes are built.
  Bun.gc(true)
  await indexRows(engine, rows, facts.indexed >= plan.index_from ? dimensions : 0)
  const words = await writeWords(engine, name, counts)
  return { name, version: await rows.version(), words_version: await words.version(), ...facts }
}

async function copy(segment: Segment, to: Table, flat: FlatWriter | null): Promise<void> {
  for (let at = 0; at < segment.facts.decisions; at += COPIED) {
    const page = await segment.page(at, COPIED)
    await to.add(page)
    await flat?.add(page)
  }
}

/** Where LanceDB has stored the rows, in the order in which they were added. */
async function runsOf(rows: Table, count: number) {
  const runs: { address: number; row: number; count: number }[] = []
  for (let row = 0; row < count; ) {
    const some = addressesIn(await rows.query().offset(row).limit(ADDRESSES).withRowId().select(['_rowid']).toArrow())
    for (const address of some) {
      const last = runs.at(-1)
      if (last && last.address + last.count === address) last.count++
      else runs.push({ address, row, count: 1 })
      row++
    }
    if (some.length === 0) throw new Error('A segment lacks rows')
  }
  return runs
}

async function indexRows({ lancedb: { Index } }: Engine, rows: Table, dimensions: number): Promise<void> {
  await rows.createIndex('id', { config: Index.btree() })
  await rows.createIndex('created_ms', { config: Index.btree() })
  for (const column of ['category', 'project', 'feature', 'agent', 'stakes', 'status', 'outcome'])
    await rows.createIndex(column, { config: Index.bitmap() })
  // The terms come from our own analysis: LanceDB only has to split them.
  const terms = Index.fts({
    baseTokenizer: 'whitespace',
    stem: false,
    removeStopWords: false,
    lowercase: false,
    asciiFolding: false,
    withPosition: false,
    maxTokenLength: LONGEST_TERM,
  })
  await rows.createIndex('terms', { config: terms })
  for (const side of sidesOf(dimensions))
    await rows.createIndex(side, { config: Index.ivfRq({ distanceType: 'cosine', numBits: VECTOR_BITS }) })
}

async function writeWords(engine: Engine, name: string, counts: ReadonlyMap<string, number>): Promise<Table> {
  const { arrow, connection, lancedb } = engine
  const held = [...counts].filter(([, decisions]) => decisions > 0)
  const words = await connection.createTable(wordsTable(name), wordsOf(arrow, held.slice(0, WORDS)))
  for (let at = WORDS; at < held.length; at += WORDS) await words.add(wordsOf(arrow, held.slice(at, at + WORDS)))
  await words.createIndex('word', { config: lancedb.Index.btree() })
  await words.createIndex('spelling', { config: lancedb.Index.bitmap() })
  return words
}

/** Whether the files of a segment contain one of these decisions, including decisions removed since the files were written. */
export async function everHeld(
  { connection }: Engine,
  { name }: SegmentFacts,
  ids: readonly string[],
): Promise<boolean> {
  if (ids.length === 0) return false
  const rows = await connection.openTable(name)
  await rows.checkout(Math.min(...(await rows.listVersions()).map(({ version }) => version)))
  for (let at = 0; at < ids.length; at += REMOVED)
    if ((await rows.countRows(anyOf('id', ids.slice(at, at + REMOVED)))) > 0) return true
  return false
}

/** Removes changed or erased decisions from a segment that is kept. @param gone those that are in the segment */
export async function removeFrom(
  { arrow, connection, folder }: Engine,
  { facts, find }: Segment,
  gone: readonly Text[],
): Promise<SegmentFacts> {
  const ids = gone.map(({ id }) => id)
  const rows = await atVersion(await connection.openTable(facts.name), facts.version)
  for (let at = 0; at < ids.length; at += REMOVED) await rows.delete(anyOf('id', ids.slice(at, at + REMOVED)))
  const decisions = facts.decisions - gone.length
  if ((await rows.countRows()) !== decisions) throw new Error('Another process writes to the same segment')
  const words = await atVersion(await connection.openTable(wordsTable(facts.name)), facts.words_version)
  const counts = new Map<string, number>()
  for (const { terms } of gone) count(counts, terms, -1)
  await words.add(wordsOf(arrow, [...counts]))
  const version = await rows.version()
  if (folder !== null) await writeGone(flatFolder(folder, facts.name), facts.version, version, await find(ids))
  return {
    ...facts,
    version,
    words_version: await words.version(),
    decisions,
    indexed: facts.indexed - gone.filter(({ indexed }) => indexed).length,
    length: facts.length - gone.reduce((sum, { length }) => sum + length, 0),
  }
}

/** The table at this version, without anything that a crashed writer added later. */
async function atVersion(table: Table, version: number): Promise<Table> {
  if ((await table.version()) === version) return table
  await table.checkout(version)
  await table.restore()
  return table
}

/** All tables of a segment. */
export const tablesOf = (name: string): string[] => [name, wordsTable(name)]
