/** Writes changes to the table of decisions, indexes it, and commits its new state. */
import type { Table } from '@lancedb/lancedb'
import { anyOf } from './filter.ts'
import { indexRows } from './indices.ts'
import { creation, type Engine } from './library.ts'
import type { Change } from './overlay.ts'
import { type Rewriting, rewriteApart } from './rewrite.ts'
import { rowOf, rowSchema } from './rows.ts'
import { decisionsTable, type StoredState, stateTable, writeState } from './state.ts'

export interface WriteOptions {
  /** Whether all rows are indexed in the end; otherwise only if most are not, since it takes as long as the table is large. */
  index: boolean
  /** Where the index is, if all rows are to be written to new files, so that no file holds what was removed. */
  erase: Pick<Rewriting, 'url' | 'storage_options'> | null
  /** Vectors from which on a vector index is built. */
  index_from: number
  /** Resolves when other work of the process has had its turn. */
  yieldToEventLoop(): Promise<void>
}

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
  { index, erase, index_from, yieldToEventLoop }: WriteOptions,
): Promise<StoredState> {
  const { arrow, connection } = engine
  const { dimensions, stats } = next
  const name = decisionsTable(generation)
  const schema = rowSchema(arrow, dimensions)
  let rows =
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
  if (erase) {
    // Deleted rows stay in the files that held them until all rows are in new ones.
    const version = await rows.version()
    rows.close()
    await rewriteApart(
      { url: erase.url, storage_options: erase.storage_options, name, version, dimensions, indexed_dimensions },
      yieldToEventLoop,
    )
    rows = await connection.openTable(name)
  }
  const isIndexed = index || before === null || next.unindexed * 2 > stats.decisions
  if (isIndexed && !erase) await indexRows(engine, rows, indexed_dimensions)
  const commit = async (): Promise<StoredState> => {
    const state = { ...next, version: await rows.version(), unindexed: isIndexed ? 0 : next.unindexed }
    await writeState(engine, generation, state)
    return state
  }
  let state = await commit()
  const cleanup = {
    cleanupOlderThan: new Date(erase ? Date.now() : Date.now() - keepVersionsMs),
    deleteUnverified: true,
  }
  if (isIndexed) await rows.optimize(cleanup)
  if ((await rows.version()) !== state.version) state = await commit()
  rows.close()
  const states = await connection.openTable(stateTable(generation))
  await states.optimize(cleanup)
  states.close()
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
