/** Embeddings and their generations. */

import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { EmbeddingReader, EmbeddingWriter, Generation, MadeVectors } from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { checkVectors, packVectors } from '../shared.ts'
import { generationsName, nameOf } from './draft.ts'
import { holdsVectors } from './filter.ts'
import type { Access, Verb } from './transaction.ts'

/** The generations as they were last read: transactions assume them unchanged until one finds that they have changed. */
export interface KnownGenerations {
  last: readonly Generation[] | null
}

async function generations(query: Query): Promise<Generation[]> {
  const rows = await query<Generation>('select number, embedder, dimensions, state from generations order by number')
  return rows.map((row) => ({ ...row, embedder: fromText(row.embedder) }))
}

const inState = (list: readonly Generation[], state: Generation['state']): Generation | null =>
  list.find((one) => one.state === state) ?? null

export const embeddingReader = ({ read }: Client): EmbeddingReader => ({
  generation: async (state) => inState(await generations(read), state),
})

export function embeddingWriter(access: Access, verb: Verb, known: KnownGenerations): EmbeddingWriter {
  const { draft } = access
  async function all(): Promise<readonly Generation[]> {
    const isKnown = known.last !== null && !access.held
    const list = isKnown ? known.last! : await access.look([generationsName], generations, 'shared')
    if (!access.held) {
      known.last = list
      const text = list.map(({ number, state }) => `${number} ${state}`).join()
      access.assume(generationsName, { kind: 'generations', text })
    }
    return list
  }
  /** Locks the generations exclusively, to change them. */
  async function change(): Promise<[Query, readonly Generation[]]> {
    const query = await access.engine()
    return [query, await access.look([generationsName], generations)]
  }
  const forget = async (query: Query, { number }: Generation) => {
    await query('delete from embeddings where generation = $1', [number])
    await query('delete from generations where number = $1', [number])
  }
  /** Whether a decision exists; assumed if no locks are held. */
  async function exists(id: string): Promise<boolean> {
    if (draft.decisions.has(id)) return true
    const name = nameOf('decision', id)
    const found = draft.found.get(name)
    if (found?.kind === 'decision' && found.revision !== null) return found.revision > 0
    if (!access.held) {
      access.assume(name, { kind: 'decision', id, revision: null, indexed: null })
      return true
    }
    const rows = await access.look([name], (query) => query('select from decisions where id = $1', [toText(id)]))
    return rows.length > 0
  }
  return {
    generation: verb(async (state: Generation['state']) => inState(await all(), state)),
    start: verb(async (embedder: string, dimensions: number) => {
      const [query, list] = await change()
      const unfinished = inState(list, 'building')
      if (unfinished !== null) await forget(query, unfinished)
      const state = inState(list, 'active') === null ? 'active' : 'building'
      const [row] = await query<{ number: number }>(
        'insert into generations (embedder, dimensions, state) values ($1, $2::int, $3) returning number',
        [toText(embedder), dimensions, state],
      )
      return { number: row!.number, embedder, dimensions, state } satisfies Generation
    }),
    put: verb(async (id: string, made: MadeVectors | null) => {
      if (draft.vectors.has(id)) await access.engine()
      if (made === null) {
        await access.guard([nameOf('decision', id)])
        draft.vectors.set(id, null)
        return
      }
      const own = (await all()).filter(({ embedder }) => embedder === made.embedder)
      if (!(await exists(id))) throw new StorageError('not_found', `there is no decision ${id}`)
      for (const generation of own) checkVectors(made.vectors, generation)
      const row = packVectors(made.vectors)
      if (own.length > 0)
        draft.vectors.set(
          id,
          own.map(({ number }) => ({ generation: number, row })),
        )
    }),
    activate: verb(async (number: number) => {
      const [query, list] = await change()
      const building = inState(list, 'building')
      if (building?.number !== number) throw new StorageError('not_found', `generation ${number} is not being built`)
      const active = inState(list, 'active')
      if (active !== null) await forget(query, active)
      await query(`update generations set state = 'active' where number = $1::int`, [number])
      await query(`update changes c set indexed = not indexed where indexed <> ${holdsVectors('c.num')}`)
    }),
  }
}
