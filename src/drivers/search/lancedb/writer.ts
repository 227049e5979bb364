/** Writes changes to the table of decisions, indexes it, and commits its new state. */
import type { Table } from '@lancedb/lancedb'
import { anyOf } from './filter.ts'
import { creation, type Engine } from './library.ts'
import { type Change, TermStats } from './overlay.ts'
import { type Indexing, indexApart, indexHere } from './rewrite.ts'
import { rowOf, rowSchema } from './rows.ts'
import { decisionsTable, type StoredState, stateTable, writeState } from './state.ts'

export interface WriteOptions {
  /** Whether all rows are indexed in the end; otherwise only if most are not, since it takes as long as the table is large. */
  index: boolean
  /** Whether all rows are written to new files, so that no file holds what was removed. */
  erase: boolean
  /** Where the index is. */
  place: Pick<Indexing, 'url' | 'storage_options'>
  /** Vectors from which on a vector index is built. */
  index_from: number
  /** Has searches use a state that was committed: files of the former one may be removed next. */
  committed(state: StoredState): Promise<void>
  /** Resolves when other work of the process has had its turn. */
  yieldToEventLoop(): Promise<void>
}

/** Rows from which on they are indexed by another process, which takes a second more: searches wait for the indexing of this one. */
const apartFrom = 10_000
/** Rows passed to LanceDB at once: converting more of them would block the process noticeably. */
const rowsAtOnce = 250
/** Other processes may read a former version for so long; after that they open the newest one. Each may hold all rows again. */
const keepVersionsMs = 60_000

/**
 * @param generation number of the generation
 * @param before the version that the changes are based on; null for a new table
 * @param next the state that the table has with the changes, before it is indexed
 */
export async function writeChanges(
  engine: Engine,
  generation: number,
  before: number | null,
  changes: readonly Change[],
  next: Omit<StoredState, 'version'>,
  { index, erase, place, index_from, committed, yieldToEventLoop }: WriteOptions,
): Promise<void> {
  const { arrow, connection } = engine
  const { dimensions, stats } = next
  const name = decisionsTable(generation)
  const schema = rowSchema(arrow, dimensions)
  const rows =
    before === null
      ? await connection.createEmptyTable(name, schema, await creation(connection, name))
      : await openCommitted(engine, name, before)
  for (let at = 0; at < changes.length; at += rowsAtOnce) {
    const some = changes.slice(at, at + rowsAtOnce)
    const replaced = some.flatMap(({ id, isStored }) => (isStored ? [id] : []))
    if (replaced.length > 0) await rows.delete(anyOf('id', replaced))
    const added = some.flatMap(({ value }) => (value === null ? [] : [rowOf(value, dimensions)]))
    if (added.length > 0) await rows.add(added)
    await yieldToEventLoop()
  }
  const indexed_dimensions = stats.indexed >= index_from ? dimensions : 0
  const isIndexed = index || before === null || next.unindexed * 2 > stats.decisions
  // Deleted rows stay in the files that held them until all rows are in new ones.
  const rewritten = erase ? await rows.version() : null
  const isApart = erase || (isIndexed && stats.decisions >= apartFrom)
  const indexed = isApart
    ? await indexApart({ ...place, name, rewritten, dimensions, indexed_dimensions }, yieldToEventLoop)
    : isIndexed
      ? await indexHere(engine, rows, indexed_dimensions)
      : null
  let version = 0
  /** Commits the newest version of the table, unless it is committed. */
  const commit = async (): Promise<void> => {
    if (isApart) await rows.checkoutLatest()
    if ((await rows.version()) === version) return
    version = await rows.version()
    const state = { ...next, version, unindexed: isIndexed ? 0 : next.unindexed }
    await writeState(engine, generation, state)
    await committed({ ...state, stats: new TermStats(stats) })
  }
  const old = new Date(erase ? Date.now() : Date.now() - keepVersionsMs)
  try {
    await commit()
    await indexed?.clean(old)
    await commit()
  } finally {
    indexed?.end()
  }
  rows.close()
  const states = await connection.openTable(stateTable(generation))
  await states.optimize({ cleanupOlderThan: old, deleteUnverified: true })
  states.close()
}

/** The table at its committed version, without what a crashed writer added later. */
async function openCommitted({ connection }: Engine, name: string, version: number): Promise<Table> {
  const rows = await connection.openTable(name)
  if ((await rows.version()) === version) return rows
  await rows.checkout(version)
  await rows.restore()
  return rows
}
