/** The feed of changes that derived indexes follow. Numbers ascend in the order of commits, so nothing appears behind a number that was read. */
import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Feed, Generation } from '../../../../sdk/storage/store.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { unpackVectors } from '../shared.ts'
import { selectedFields } from './filter.ts'
import type { History } from './history.ts'
import { changes, decisions, embeddings, generations } from './schema.ts'

export const feedReader = (db: Database, history: History): Feed => ({
  async head() {
    const { number, embedder, dimensions, state } = generations
    const rows = await db
      .select({
        seq: sql<number>`coalesce((select max(${changes.seq}) from ${changes}), 0)::float8`,
        generation: { number, embedder, dimensions, state },
        ...history.columns(),
      })
      .from(sql`(select) as one`)
      .leftJoin(generations, sql`true`)
    history.saw(history.check(rows[0]!))
    const inState = (wanted: Generation['state']) =>
      rows.find(({ generation }) => generation?.state === wanted)?.generation ?? null
    return { seq: rows[0]!.seq, active: inState('active'), building: inState('building') }
  },
  async since(after, generation, limit) {
    const { indexed: _, ...fields } = selectedFields
    const { structure, function: own, both, shared } = embeddings
    const rows = await db
      .select({
        change: { seq: changes.seq, id: changes.id, indexed: changes.indexed },
        fields: { ...fields, terms: decisions.terms },
        vectors: { structure, function: own, both, shared },
      })
      .from(changes)
      .leftJoin(decisions, eq(decisions.id, changes.id))
      .leftJoin(embeddings, and(eq(embeddings.id, changes.id), eq(embeddings.generation, generation)))
      .where(gt(changes.seq, after))
      .orderBy(asc(changes.seq))
      .limit(limit)
    return rows.map(({ change: { seq, id, indexed }, fields: found, vectors }) => {
      if (found === null) return { seq, id, fields: null, terms: '', vectors: null }
      const { terms, ...own } = found
      return {
        seq,
        id,
        fields: { ...own, indexed },
        terms,
        vectors: vectors && unpackVectors(vectors),
      }
    })
  },
})
