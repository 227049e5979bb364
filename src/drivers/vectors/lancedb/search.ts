/** One generation in one LanceDB table. */
import type { Table } from '@lancedb/lancedb'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { checkEntries, checkVector } from '../../../../sdk/storage/vector-checks.ts'
import type { VectorHit, VectorIndex } from '../../../../sdk/storage/vectors.ts'
import { messageOf } from '../../../core/log.ts'
import { openLane } from '../shared/lane.ts'
import { IS_NEWER, idIn, LIVE, quote, toTable, WATERMARK_ID, where } from './table.ts'
import { openUpkeep, type Upkeep } from './upkeep.ts'

export interface Libraries {
  lancedb: typeof import('@lancedb/lancedb')
  arrow: typeof import('apache-arrow')
}

const ATTEMPTS = 6
/** Of about √n partitions: enough for a recall@10 above .95 on clustered vectors. */
const PROBES = 24

export function openLanceIndex(
  { lancedb, arrow }: Libraries,
  table: Table,
  dimensions: number,
  options: Pick<Upkeep, 'index_from' | 'log'>,
): VectorIndex {
  const lane = openLane()
  const write = <T>(work: () => Promise<T>) => lane(() => retrying(work))
  let batches = 0
  const maintain = openUpkeep(lancedb, table, { ...options, write }, () => batches)

  const query = (vector: Float32Array, side: string, filter: string, k: number) =>
    table
      .query()
      .nearestTo(vector)
      .column(side)
      .distanceType('cosine')
      .where(filter)
      .select(['id', '_distance'])
      .limit(k)

  async function hits(search: ReturnType<typeof query>): Promise<VectorHit[]> {
    const found = await search.toArrow()
    const [ids, distances] = [found.getChild('id')!, found.getChild('_distance')!]
    return Array.from({ length: found.numRows }, (_, i) => ({
      id: String(ids.get(i)),
      distance: Math.min(2, Math.max(0, Number(distances.get(i)))),
    })).sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
  }

  const guarded = async <T>(work: () => Promise<T>): Promise<T> => work().catch(refuse)

  return {
    watermark: () =>
      guarded(async () => {
        const [row] = await table
          .query()
          .where(`id = ${quote(WATERMARK_ID)}`)
          .select(['seq'])
          .limit(1)
          .toArray()
        return row === undefined ? 0 : Number(row.seq)
      }),
    apply: (entries, watermark) =>
      guarded(async () => {
        checkEntries(entries, dimensions)
        const rows = toTable(arrow, entries, watermark, dimensions)
        await write(() =>
          table.mergeInsert('id').whenMatchedUpdateAll({ where: IS_NEWER }).whenNotMatchedInsertAll().execute(rows),
        )
        batches++
      }),
    nearest: ({ vector, side, k, filter }) =>
      guarded(async () => {
        checkVector(vector, dimensions, 'The vector of the query')
        if (k <= 0) return []
        for (let asked = k + 1; ; asked *= 2) {
          const found = await hits(query(vector, side, where(filter), asked).maximumNprobes(0).minimumNprobes(PROBES))
          // LanceDB breaks ties arbitrarily: ask for more until all that tie with the last one are found.
          const isTied = found.length === asked && found[k - 1]!.distance === found.at(-1)!.distance
          if (!isTied) return found.slice(0, k)
        }
      }),
    distances: ({ vector, side, ids }) =>
      guarded(async () => {
        checkVector(vector, dimensions, 'The vector of the query')
        if (ids.length === 0) return new Map()
        const found = await hits(query(vector, side, idIn(ids), ids.length).bypassVectorIndex())
        return new Map(found.map(({ id, distance }) => [id, distance]))
      }),
    count: () => guarded(() => table.countRows(LIVE)),
    maintain: () => guarded(maintain),
    async close() {
      closeQuietly(table)
    },
  }
}

/** Retries what lost against a commit of another process. */
async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !/conflict|concurrent/i.test(String(error))) throw error
      await Bun.sleep(Math.random() * 50 * 2 ** attempt)
    }
  }
}

/** Closes what nothing uses; what is in use refuses that, and is freed when it is collected. */
export function closeQuietly(handle: { close(): void }): void {
  try {
    handle.close()
  } catch {
    // It is in use: LanceDB reports nothing else here.
  }
}

export function refuse(error: unknown): never {
  if (error instanceof StorageError) throw error
  throw new StorageError('unavailable', `LanceDB: ${messageOf(error)}`, {
    cause: error,
  })
}
