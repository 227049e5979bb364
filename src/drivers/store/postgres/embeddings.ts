/** Embeddings and their generations. */

import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { EmbeddingReader, EmbeddingWriter, Generation } from '../../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../../sdk/storage/vectors.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { checkVectors, packVectors } from '../shared.ts'
import { holdsVectors } from './filter.ts'
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
