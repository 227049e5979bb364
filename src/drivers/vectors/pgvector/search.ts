/** The index of one generation in PostgreSQL. */
import { checkEntries, checkVector } from '../../../../sdk/storage/vector-checks.ts'
import {
  type Side,
  sides,
  type VectorEntry,
  type VectorHit,
  type VectorIndex,
} from '../../../../sdk/storage/vectors.ts'
import { type Client, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { fromText, rankOf, toText, whereOf } from '../../shared/postgres/filter.ts'
import { columns, hnswName, lockOf } from './table.ts'

interface PgvectorIndexOptions {
  client: Client
  /** Schema of pgvector; the search path names only our own. */
  extension: string
  number: number
  dimensions: number
  index_from: number
}

/** Further decisions that are asked for if several are equally far. */
const maxTied = 256

/** Rows written by one statement. */
const page = 200

const textOf = (vector: Float32Array): string => `[${vector.join(',')}]`

/** Values by column of the entries that are to be held. */
function columnsOf(entries: readonly (VectorEntry & { value: NonNullable<VectorEntry['value']> })[]): unknown[][] {
  const rows = entries.map(({ id, value: { fields } }) => [
    toText(id),
    toText(fields.category),
    fields.confidence,
    rankOf(fields.stakes),
    fields.status,
    fields.outcome,
    toText(fields.project),
    toText(fields.feature),
    fields.pr,
    toText(fields.agent),
    fields.created_ms,
    fields.review_by_ms,
    fields.preserve,
    fields.indexed,
  ])
  return [
    ...columns.map((_, index) => rows.map((row) => row[index])),
    // An array of arrays must be a rectangle: lists of tags go as JSON.
    entries.map(({ value }) => JSON.stringify(value.fields.tags.map(toText))),
    ...sides.map((side) => entries.map(({ value }) => textOf(value.vectors[side]))),
  ]
}

const tagsAt = columns.length + 1
const types = [...columns.map(([, type]) => type), 'text', ...sides.map(() => 'text')]
const scalarNames = [...columns.map(([name]) => name as string), 'tags']
const vectorNames = sides.map((side) => `"${side}"`)
const names = [...scalarNames, ...vectorNames]

/** Equal rows are not written: another server that follows the same feed wrote them, and each write updates three HNSW indexes. */
function upsertSql(table: string, extension: string): string {
  const given = names.map((_, index) => `c${index + 1}`)
  const selected = given.map((name, index) =>
    index + 1 === tagsAt
      ? `array(select json_array_elements_text(${name}::json))`
      : index + 1 > tagsAt
        ? `${name}::${extension}.vector`
        : name,
  )
  return `insert into ${table} (${names.join(', ')}) select ${selected.join(', ')}
    from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as given (${given.join(', ')})
    on conflict (id) do update set ${names
      .slice(1)
      .map((name) => `${name} = excluded.${name}`)
      .join(', ')}
    where (${scalarNames.map((name) => `${table}.${name}`).join(', ')}) is distinct from (${scalarNames.map((name) => `excluded.${name}`).join(', ')})
      or ${vectorNames.map((name) => `${table}.${name} operator(${extension}.<>) excluded.${name}`).join(' or ')}`
}

/** For `catch`: throws a StorageError that says what can't be done. */
export const refuse =
  (what: string) =>
  (error: unknown): never => {
    throw storageErrorOf(error, what)
  }

export function openPgvectorIndex({
  client,
  extension,
  number,
  dimensions,
  index_from,
}: PgvectorIndexOptions): VectorIndex {
  const table = `vectors_g${number}`
  const upsert = upsertSql(table, extension)
  const distanceTo = (side: Side): string => `"${side}" operator(${extension}.<=>) $1::${extension}.vector`

  async function watermark(query: Query): Promise<number> {
    const [row] = await query<{ watermark: number }>(
      'select watermark::float8 as watermark from vector_indexes where generation = $1::int',
      [number],
    )
    return row?.watermark ?? 0
  }

  async function write(query: Query, entries: readonly VectorEntry[]): Promise<void> {
    const last = new Map(entries.map((entry) => [entry.id, entry]))
    const gone = [...last.values()].filter(({ value }) => value === null)
    if (gone.length > 0)
      await query(`delete from ${table} where id = any($1::text[])`, [gone.map(({ id }) => toText(id))])
    const held = [...last.values()].flatMap(({ id, value }) => (value === null ? [] : [{ id, value }]))
    for (let at = 0; at < held.length; at += page) await query(upsert, columnsOf(held.slice(at, at + page)))
  }

  /** @param ranked the expression to order by: the bare distance uses HNSW, a sum with it compares every vector */
  async function search(
    ranked: (distance: string) => string,
    { vector, side, k, filter }: Parameters<VectorIndex['nearest']>[0],
  ): Promise<VectorHit[]> {
    const values: unknown[] = [textOf(vector), k]
    const where = whereOf(filter, values, 'd.indexed')
    const distance = `d.${distanceTo(side)}`
    const rows = await client.read<VectorHit>(
      `select id, distance from (select d.id, ${distance} as distance from ${table} d where ${where}
         order by ${ranked(distance)} limit $2::int) as found order by distance, id`,
      values,
    )
    return rows.map(({ id, distance }) => ({ id: fromText(id), distance }))
  }

  const isIndexed = async (side: Side): Promise<boolean> =>
    (
      await client.read('select 1 from pg_index where indisvalid and indexrelid = to_regclass($1)', [
        hnswName(number, side),
      ])
    ).length > 0

  return {
    watermark: () => watermark(client.read).catch(refuse('cannot read')),
    async apply(entries, through) {
      checkEntries(entries, dimensions)
      await client
        .begin(async (query) => {
          await query(lockOf(number))
          // Another server that follows the same store may have applied more.
          if ((await watermark(query)) > through) return
          await write(query, entries)
          await query('update vector_indexes set watermark = $2::bigint where generation = $1::int', [number, through])
        })
        .catch(refuse('cannot write vectors'))
    },
    async nearest(query) {
      checkVector(query.vector, dimensions, 'The vector of the query')
      if (query.k <= 0) return []
      const { k } = query
      const work = async () => {
        // Of equal distances HNSW takes any: a few more are requested, so that the last of them is rarely as far as the k-th.
        for (let more = 1; more <= maxTied; more *= 16) {
          const hits = await search((distance) => distance, { ...query, k: k + more })
          if (hits.length < k + more) break
          if (hits[k - 1]!.distance < hits.at(-1)!.distance) return hits.slice(0, k)
        }
        // HNSW stops after some candidates, so a narrow filter may leave too few: compare every vector that passes it.
        return search((distance) => `(${distance}) + 0, d.id`, query)
      }
      return work().catch(refuse('cannot search'))
    },
    async distances({ vector, side, ids }) {
      checkVector(vector, dimensions, 'The vector of the query')
      const rows = await client
        .read<VectorHit>(`select id, ${distanceTo(side)} as distance from ${table} where id = any($2::text[])`, [
          textOf(vector),
          ids.map(toText),
        ])
        .catch(refuse('cannot search'))
      return new Map(rows.map(({ id, distance }) => [fromText(id), distance]))
    },
    async count() {
      const [row] = await client
        .read<{ count: number }>(`select count(*)::int as count from ${table}`)
        .catch(refuse('cannot count'))
      return row!.count
    },
    async maintain() {
      const bare: Side[] = []
      for (const side of sides) if (!(await isIndexed(side))) bare.push(side)
      if (bare.length === 0 || (await this.count()) < index_from) return
      for (const side of bare) {
        await client
          .beginWithoutTimeout(async (query) => {
            // One server builds; the others wait and find nothing left to do.
            await query(lockOf(number))
            await query(
              `create index if not exists ${hnswName(number, side)} on ${table} using hnsw ("${side}" ${extension}.vector_cosine_ops)`,
            )
          })
          .catch(refuse('cannot build the index'))
      }
    },
    close: async () => {},
  }
}
