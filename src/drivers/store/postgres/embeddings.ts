/** Embeddings and their generations, and the feed of changes that derived indexes follow. */

import { StorageError } from '../../../../sdk/storage/errors.ts'
import { sharedRun } from '../../../../sdk/storage/shared-run.ts'
import type { EmbeddingReader, EmbeddingWriter, Feed, FeedEntry, Generation } from '../../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../../sdk/storage/vectors.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { checkVectors, packVectors, unpackVectors, type VectorRow } from '../shared.ts'
import { type FieldRow, fieldColumns, fieldsOfRow, holdsVectors } from './filter.ts'
import { feedLock } from './locks.ts'
import type { Connection, Verb } from './transaction.ts'

async function inState(query: Query, state: Generation['state']): Promise<Generation | null> {
  const [row] = await query<Generation>(
    'select number, embedder, dimensions, state from generations where state = $1',
    [state],
  )
  return row === undefined ? null : { ...row, embedder: fromText(row.embedder) }
}

export const embeddingReader = ({ read }: Client): EmbeddingReader => ({
  generation: (state) => inState(read, state),
})

export function embeddingWriter({ query, lock, touch }: Connection, verb: Verb): EmbeddingWriter {
  const looked = async (state: Generation['state']) => {
    await lock('generations', '', 'shared')
    return inState(query, state)
  }
  const forget = async ({ number }: Generation) => {
    await query('delete from embeddings where generation = $1', [number])
    await query('delete from generations where number = $1', [number])
  }
  async function numOf(id: string): Promise<string | null> {
    await lock('decision', id)
    const [row] = await query<{ num: string }>('select num::text as num from decisions where id = $1', [toText(id)])
    return row?.num ?? null
  }
  return {
    generation: verb(looked),
    start: verb(async (embedder: string, dimensions: number) => {
      await lock('generations', '')
      const unfinished = await inState(query, 'building')
      if (unfinished !== null) await forget(unfinished)
      const state = (await inState(query, 'active')) === null ? 'active' : 'building'
      const [row] = await query<{ number: number }>(
        'insert into generations (embedder, dimensions, state) values ($1, $2::int, $3) returning number',
        [toText(embedder), dimensions, state],
      )
      return { number: row!.number, embedder, dimensions, state } satisfies Generation
    }),
    put: verb(async (id: string, embedder: string, vectors: VectorSet) => {
      await lock('generations', '', 'shared')
      const num = await numOf(id)
      if (num === null) throw new StorageError('not_found', `there is no decision ${id}`)
      const generations = await query<Generation>(
        'select number, embedder, dimensions, state from generations where embedder = $1',
        [toText(embedder)],
      )
      for (const generation of generations) checkVectors(vectors, generation)
      const row = packVectors(vectors)
      for (const { number } of generations)
        await query(
          `insert into embeddings (generation, num, structure, function, "both", shared)
           values ($1::int, $2::bigint, $3, $4, $5, $6::int)
           on conflict (generation, num) do update set structure = excluded.structure, function = excluded.function,
             "both" = excluded."both", shared = excluded.shared`,
          [number, num, row.structure, row.function, row.both, row.shared],
        )
      if (generations.length > 0) touch(id)
    }),
    drop: verb(async (id: string) => {
      await lock('generations', '', 'shared')
      const num = await numOf(id)
      if (num === null) return
      await query('delete from embeddings where num = $1::bigint', [num])
      touch(id)
    }),
    activate: verb(async (number: number) => {
      await lock('generations', '')
      if ((await inState(query, 'building'))?.number !== number)
        throw new StorageError('not_found', `generation ${number} is not being built`)
      const active = await inState(query, 'active')
      if (active !== null) await forget(active)
      await query(`update generations set state = 'active' where number = $1::int`, [number])
      await query(`update changes c set indexed = not indexed where indexed <> ${holdsVectors('c.num')}`)
    }),
  }
}

type FeedRow = Partial<VectorRow> & FieldRow & { seq: number }

const feedSql = `select c.seq::float8 as seq, ${fieldColumns}, c.indexed, e.structure, e.function, e."both", e.shared
  from changes c join decisions d on d.num = c.num left join embeddings e on e.generation = $1::int and e.num = d.num
  where c.seq > $2::bigint and c.seq <= $4::bigint order by c.seq limit $3::int`

function entryOf(row: FeedRow): FeedEntry {
  const { seq, structure, function: own, both, shared, ...fields } = row
  return {
    seq,
    id: fields.id,
    fields: fieldsOfRow(fields),
    vectors: structure == null ? null : unpackVectors({ structure, function: own!, both: both!, shared: shared! }),
  }
}

export function feedReader(client: Client): Feed {
  /** The end of what is committed: while the lock is held, no number is given out whose change is still to come. */
  const readHead = () =>
    client.begin(async (query) => {
      await query(feedLock.exclusive)
      const [row] = await query<{ seq: number; generation: number }>(
        `select coalesce(max(seq), 0)::float8 as seq,
           coalesce((select number from generations where state = 'active'), 0) as generation from changes`,
      )
      return row!
    })

  /** Searches that come together ask once. */
  const head = sharedRun(readHead)

  return {
    head,
    async since(after, generation, limit) {
      const { seq } = await head()
      const rows = await client.read<FeedRow>(feedSql, [generation, after, limit, seq])
      return rows.map(entryOf)
    },
  }
}
