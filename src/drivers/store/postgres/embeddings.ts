/** Embeddings and their generations. */
import { asc, eq } from 'drizzle-orm'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { EmbeddingWriter, Generation, MadeVectors, PutGeneration } from '../../../../sdk/storage/store.ts'
import { checkVectors } from '../../../../sdk/storage/vector-checks.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { packVectors } from '../shared.ts'
import { decisions, embeddings, generations } from './schema.ts'
import { updateIndexed } from './statements.ts'
import { type Access, keyOf } from './transaction.ts'

const readGenerations = (db: Database): PromiseLike<Generation[]> =>
  db.select().from(generations).orderBy(asc(generations.number))

const inState = (list: readonly Generation[], state: Generation['state']): Generation | null =>
  list.find((one) => one.state === state) ?? null

export function embeddingWriter(access: Access): EmbeddingWriter {
  const { verb } = access
  const all = () => access.readShared('generations', [keyOf.generations], readGenerations)
  async function exists(id: string): Promise<boolean> {
    const key = keyOf.decision(id)
    if (access.writes(key)) return !access.writes(keyOf.erased(id))
    const rows = await access.read([key], (db) =>
      db.select({ id: decisions.id }).from(decisions).where(eq(decisions.id, id)),
    )
    return rows.length > 0
  }
  const drop = ({ number }: Generation) => {
    access.write([], ({ send }) => send((db) => db.delete(embeddings).where(eq(embeddings.generation, number))))
    access.write([keyOf.generations], ({ send }) =>
      send((db) => db.delete(generations).where(eq(generations.number, number))),
    )
  }
  async function start(embedder: string, dimensions: number): Promise<Generation> {
    access.requireAlone()
    const list = await all()
    const unfinished = inState(list, 'building')
    if (unfinished !== null) drop(unfinished)
    const state = inState(list, 'active') === null ? 'active' : 'building'
    const values = { embedder, dimensions, state } as const
    // Sent at once, since its answer is needed.
    const [row] = await access.read([], (db) =>
      db.insert(generations).values(values).returning({ number: generations.number }),
    )
    return { number: row!.number, ...values }
  }
  async function finish(number: number): Promise<Generation> {
    access.requireAlone()
    const list = await all()
    const built = inState(list, 'building')
    if (built?.number !== number) throw new StorageError('not_found', `generation ${number} is not being built`)
    const active = inState(list, 'active')
    if (active !== null) drop(active)
    access.write([keyOf.generations], ({ send }) =>
      send((db) => db.update(generations).set({ state: 'active' }).where(eq(generations.number, number))),
    )
    access.write([], ({ send }) => send((db) => db.execute(updateIndexed)))
    return { ...built, state: 'active' }
  }
  return {
    put: verb(async (id: string, made: MadeVectors | null) => {
      if (made === null) {
        access.write([keyOf.decision(id)], ({ deleteVectors }) => deleteVectors(id))
        access.changed(id)
        return false
      }
      const [stored, isStored] = await Promise.all([all(), exists(id)])
      if (!isStored) throw new StorageError('not_found', `there is no decision ${id}`)
      const list = stored.length > 0 ? stored : [await start(made.embedder, made.vectors.both.length)]
      const own = list.filter(({ embedder }) => embedder === made.embedder)
      for (const generation of own) checkVectors(made.vectors, generation)
      const row = packVectors(made.vectors)
      for (const { number } of own)
        access.write([keyOf.decision(id)], ({ putVectors }) => putVectors({ generation: number, id, ...row }))
      access.changed(id)
      return own.some(({ state }) => state === 'active')
    }),
    putGeneration: verb((next: PutGeneration) =>
      next.state === 'building' ? start(next.embedder, next.dimensions) : finish(next.number),
    ),
  }
}
