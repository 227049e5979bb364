/** Compaction and indexes of a LanceDB table: without them a table of many small batches becomes slow and large. */
import type { Table } from '@lancedb/lancedb'
import { sides } from '../../../../sdk/storage/vectors.ts'
import { LIVE } from './table.ts'

type Library = typeof import('@lancedb/lancedb')

export interface Upkeep {
  /** Below this many decisions every search is exact, and fast enough. */
  index_from: number
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, data?: Record<string, unknown>): void
  /** Runs one write after the other. */
  write<T>(work: () => Promise<T>): Promise<T>
}

/** Compacts after this many batches, or when this long has passed since the last time. */
const MOST_BATCHES = 100
const COMPACT_AFTER_MS = 5_000
/** Versions older than this are removed: no read takes longer. */
const KEEP_MS = 10 * 60_000
const ID_INDEX_FROM = 1_000
/** An index is retrained when the table has grown by this factor. */
const RETRAIN = 4

/** Returns what `maintain` calls; `written` counts the batches so far. */
export function openUpkeep(library: Library, table: Table, { index_from, log, write }: Upkeep, written: () => number) {
  const { Index } = library
  let compacted = { batches: 0, at: performance.now() }

  async function compact() {
    const batches = written() - compacted.batches
    const elapsed = performance.now() - compacted.at
    if (batches === 0 || (batches < MOST_BATCHES && elapsed < COMPACT_AFTER_MS)) return
    const through = written()
    await write(() => table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_MS) }))
    compacted = { batches: through, at: performance.now() }
  }

  async function index() {
    const rows = await table.countRows(LIVE)
    if (rows < ID_INDEX_FROM) return
    const indices = await table.listIndices()
    if (!indices.some(({ columns }) => columns[0] === 'id')) {
      await write(() => table.createIndex('id', { config: Index.btree() }))
    }
    if (rows < index_from) return
    for (const side of sides) {
      const mine = indices.filter(({ columns }) => columns[0] === side)
      // The name ends with the number of rows that it was trained on.
      if (mine.some(({ name }) => rows < RETRAIN * Number(name.split('_').at(-1)))) continue
      const start = performance.now()
      const name = `${side}_${rows}`
      await write(() => table.createIndex(side, { config: Index.ivfFlat({ distanceType: 'cosine' }), name }))
      for (const old of mine) await write(() => table.dropIndex(old.name))
      log('info', 'Vector index trained', { side, rows, duration_ms: Math.round(performance.now() - start) })
    }
  }

  let indexed = -1
  return async () => {
    await compact()
    if (indexed === written()) return
    await index()
    indexed = written()
  }
}
