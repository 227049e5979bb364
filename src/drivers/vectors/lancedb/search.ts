/** One generation in one LanceDB table. */
import type { Table } from '@lancedb/lancedb'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { checkEntries, checkVector } from '../../../../sdk/storage/vector-checks.ts'
import type { VectorHit, VectorIndex } from '../../../../sdk/storage/vectors.ts'
import { openLane } from '../exact/search.ts'
import { IS_NEWER, toTable, WATERMARK_ID } from './rows.ts'
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
        checkVector(vector, dimensions, 'The question')
        if (k <= 0) return []
        for (let asked = k + 1; ; asked *= 2) {
          const found = await hits(query(vector, side, where(filter), asked).maximumNprobes(0).minimumNprobes(PROBES))
          // LanceDB breaks ties as it likes: ask on until all that tie with the last one are there.
          const isTied = found.length === asked && found[k - 1]!.distance === found.at(-1)!.distance
          if (!isTied) return found.slice(0, k)
        }
      }),
    distances: ({ vector, side, ids }) =>
      guarded(async () => {
        checkVector(vector, dimensions, 'The question')
        if (ids.length === 0) return new Map()
        const found = await hits(query(vector, side, idIn(ids), ids.length).bypassVectorIndex())
        return new Map(found.map(({ id, distance }) => [id, distance]))
      }),
    count: () => guarded(() => table.countRows(LIVE)),
    maintain: () => guarded(maintain),
    async close() {
      letGo(table)
    },
  }
}

/** Tries again what lost against a commit of another process. */
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

/** Closes what nothing is using; what is in use refuses that, and is freed when it was collected. */
export function letGo(handle: { close(): void }): void {
  try {
    handle.close()
  } catch {
    // LanceDB says no more than that it is in use: nothing to do, and nobody to tell.
  }
}

export function refuse(error: unknown): never {
  if (error instanceof StorageError) throw error
  throw new StorageError('unavailable', `LanceDB: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  })
}

// A filter as SQL, the only form in which LanceDB takes one.

/** Rows that are decisions: not the row of the watermark, and not what was removed. */
export const LIVE = 'live'

export const quote = (text: string) => `'${text.replaceAll("'", "''")}'`

const number = (value: number) =>
  Number.isFinite(value) ? String(value).replace('e+', 'e') : `CAST('${value > 0 ? 'inf' : '-inf'}' AS DOUBLE)`

const anyOf = (column: string, values: readonly string[]) =>
  values.length === 0 ? 'false' : `${column} IN (${values.map(quote).join(', ')})`

export function where(filter: DecisionFilter): string {
  const terms = [LIVE]
  for (const column of ['category', 'project', 'feature', 'agent'] as const) {
    const value = filter[column]
    if (value !== undefined) terms.push(`${column} = ${quote(value)}`)
  }
  for (const column of ['stakes', 'status', 'outcome'] as const) {
    const values = filter[column]
    if (values !== undefined) terms.push(anyOf(column, values))
  }
  for (const column of ['preserve', 'indexed'] as const) {
    const value = filter[column]
    if (value !== undefined) terms.push(value ? column : `NOT ${column}`)
  }
  const bounds = [
    ['pr', '=', filter.pr],
    ['confidence', '>=', filter.min_confidence],
    ['confidence', '<=', filter.max_confidence],
    ['created_ms', '>=', filter.created_from_ms],
    ['created_ms', '<=', filter.created_to_ms],
    ['review_by_ms', '<=', filter.review_by_to_ms],
  ] as const
  for (const [column, operator, value] of bounds) {
    if (value !== undefined) terms.push(`${column} ${operator} ${number(value)}`)
  }
  if (filter.tags !== undefined) {
    const list = filter.tags.map(quote).join(', ')
    terms.push(list === '' ? 'false' : `array_has_any(tags, make_array(${list}))`)
  }
  return terms.join(' AND ')
}

export const idIn = (ids: readonly string[]) => `${LIVE} AND ${anyOf('id', ids)}`
