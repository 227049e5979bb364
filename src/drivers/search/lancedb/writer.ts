/** Writes changes to the table of decisions, indexes it, and commits its new state. */
import type { Table } from '@lancedb/lancedb'
import { decisionFields } from '../../../../sdk/schema/decision-fields.ts'
import type { SearchGeneration, SearchValue } from '../../../../sdk/storage/search.ts'
import { anyOf } from './filter.ts'
import { creation, type Engine } from './library.ts'
import { columns, type Row, rowSchema, sidesOf, toTable } from './rows.ts'
import { decisionsTable, type StoredState, stateTable, writeState } from './state.ts'
import { type Counted, TermStats } from './term-stats.ts'

/** A decision whose row is replaced. */
export interface Change {
  id: string
  /** What the table holds of it; null if nothing. */
  stored: Counted | null
  /** Null removes it. */
  value: SearchValue | null
}

export interface WriteOptions {
  /** Id of the store that the index belongs to. */
  store: string
  /** The newest change that is among these or before them. */
  watermark: number
  /** Whether all rows are indexed in the end; otherwise only if too many are not. */
  index: boolean
  /** Writes all rows to new files, so that no file holds what was removed. */
  erase: boolean
  /** Vectors from which on a vector index is built. */
  index_from: number
  /** Resolves when other work of the process has had its turn. */
  yieldToEventLoop(): Promise<void>
}

/** Rows passed to LanceDB at once: copying more of them would block the process noticeably. */
const rowsAtOnce = 1_000
/** Bits of a dimension in the vector index. */
const vectorBits = 4
/** The longest term has 64 characters; LanceDB counts bytes. */
const maxTokenLength = 1_024
/** Other processes may read a former version for so long; after that they open the newest one. */
const keepVersionsMs = 600_000

/** @param before the state that the changes are based on; null for a new table */
export async function writeChanges(
  engine: Engine,
  generation: SearchGeneration,
  before: StoredState | null,
  changes: readonly Change[],
  options: WriteOptions,
): Promise<StoredState> {
  const { arrow, connection } = engine
  const { dimensions, embedder } = generation
  const name = decisionsTable(generation.number)
  const stats = new TermStats(before?.stats)
  let rows =
    before === null
      ? await connection.createEmptyTable(name, rowSchema(arrow, dimensions), await creation(connection, name))
      : await openCommitted(engine, name, before.version)
  for (let at = 0; at < changes.length; at += rowsAtOnce) {
    const some = changes.slice(at, at + rowsAtOnce)
    const replaced = some.filter(({ stored }) => stored !== null)
    for (const { stored } of replaced) stats.add(stored!, -1)
    if (replaced.length > 0)
      await rows.delete(
        anyOf(
          'id',
          replaced.map(({ id }) => id),
        ),
      )
    const added = some.filter((change): change is Change & Row => change.value !== null)
    for (const { value } of added) stats.add({ terms: value.terms, indexed: value.vectors !== null })
    if (added.length > 0) await rows.add(toTable(arrow, added, dimensions))
    await options.yieldToEventLoop()
  }
  if (options.erase) rows = await rewritten(engine, rows, generation)
  const unindexed = options.erase ? stats.decisions : (before?.unindexed ?? 0) + changes.length
  const isIndexed = options.index || before === null || unindexed * 2 > stats.decisions
  if (isIndexed) await indexRows(engine, rows, stats.indexed >= options.index_from ? dimensions : 0)
  const commit = async (): Promise<StoredState> => {
    const state = {
      store: options.store,
      embedder,
      dimensions,
      version: await rows.version(),
      watermark: options.watermark,
      unindexed: isIndexed ? 0 : unindexed,
      stats,
    }
    await writeState(engine, generation, state)
    return state
  }
  let state = await commit()
  const cleanup = { cleanupOlderThan: new Date(options.erase ? Date.now() : Date.now() - keepVersionsMs) }
  if (isIndexed) {
    await rows.optimize({ ...cleanup, deleteUnverified: true })
    if ((await rows.version()) !== state.version) state = await commit()
  }
  const states = await connection.openTable(stateTable(generation.number))
  await states.optimize({ ...cleanup, deleteUnverified: true })
  states.close()
  rows.close()
  return state
}

/** The table at its committed version, without what a crashed writer added later. */
async function openCommitted({ connection }: Engine, name: string, version: number): Promise<Table> {
  const rows = await connection.openTable(name)
  if ((await rows.version()) === version) return rows
  await rows.checkout(version)
  await rows.restore()
  return rows
}

/** Copies all rows to new files: deleted rows stay in the old ones until these are removed. */
async function rewritten({ arrow, connection }: Engine, rows: Table, { number, dimensions }: SearchGeneration) {
  const name = decisionsTable(number)
  await rows.checkout(await rows.version())
  const copy = await connection.createEmptyTable(name, rowSchema(arrow, dimensions), { mode: 'overwrite' })
  const count = await rows.countRows()
  for (let at = 0; at < count; at += rowsAtOnce)
    await copy.add(await rows.query().offset(at).limit(rowsAtOnce).toArrow())
  rows.close()
  return copy
}

/** Creates the indices that are missing, and brings the others up to date. @param dimensions 0 for no vector indices */
async function indexRows({ lancedb: { Index } }: Engine, rows: Table, dimensions: number): Promise<void> {
  await rows.optimize()
  const existing = new Set((await rows.listIndices()).flatMap((index) => index.columns))
  const create = async (column: string, config: ReturnType<typeof Index.btree>) => {
    if (!existing.has(column)) await rows.createIndex(column, { config })
  }
  for (const column of columns) {
    const { type } = decisionFields[column]
    if (column === 'id' || type === 'time') await create(column, Index.btree())
    else if (type === 'text') await create(column, Index.bitmap())
    else if (type === 'texts') await create(column, Index.labelList())
  }
  await create('words', Index.labelList())
  // The terms come from our own analysis: LanceDB only has to split them.
  const terms = Index.fts({
    baseTokenizer: 'whitespace',
    stem: false,
    removeStopWords: false,
    lowercase: false,
    asciiFolding: false,
    withPosition: false,
    maxTokenLength,
  })
  await create('terms', terms)
  for (const side of sidesOf(dimensions))
    await create(side, Index.ivfRq({ distanceType: 'cosine', numBits: vectorBits }))
}
