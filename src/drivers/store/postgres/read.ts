/** Reads of decisions and edges. */
import { and, asc, desc, eq, gte, inArray, like, lt, or, type SQL, sql } from 'drizzle-orm'
import type { DecisionReader, EdgeReader, StoredText } from '../../../../sdk/storage/store.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { toText } from '../../shared/postgres/text.ts'
import { conditionOf, selectedFields } from './filter.ts'
import { groupRows } from './groups.ts'
import { decisions, edges } from './schema.ts'
import { idSuffix, isIndexed, textArray } from './statements.ts'

const { id, agent, created_ms, revision } = decisions
const json = sql<string>`${decisions.doc}::text`

const sortColumns = {
  created_at: created_ms,
  confidence: sql`coalesce(${decisions.confidence}, -1)`,
  category: sql`coalesce(${decisions.category}, '')`,
  stakes: decisions.stakes,
  status: decisions.status,
}

/** The decisions with these ids that exist, in the order of `ids`. */
export async function readStored(db: Database, ids: readonly string[]): Promise<StoredText[]> {
  const rows = await db
    .select({ id, json, agent, created_ms, revision, indexed: isIndexed })
    .from(decisions)
    .where(sql`${id} = any(${textArray(ids)})`)
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((one) => found.get(one) ?? [])
}

export function decisionReader(db: Database): DecisionReader {
  return {
    get: (ids) => readStored(db, ids),
    async find(query) {
      const selected = db.select({ id }).from(decisions)
      if ('source_key' in query) {
        const rows = await selected.where(eq(decisions.source_key, query.source_key))
        return rows.map((row) => row.id)
      }
      // The first text after all texts that start with the prefix, by bytes.
      const [from, end] = [query.prefix, `${query.prefix}\u{10ffff}`].map(toText) as [string, string]
      const rows = await selected
        .where(
          or(
            and(gte(id, from), lt(id, end)),
            and(sql`${idSuffix} >= ${from}`, sql`${idSuffix} < ${end}`, like(id, '__________-decision-%')),
          ),
        )
        .orderBy(asc(id))
        .limit(query.limit)
      return rows.map((row) => row.id)
    },
    async list({ filter, ids, sort, order, offset, limit }) {
      const among = ids && sql`${id} = any(${textArray(ids)})`
      const where = and(conditionOf(filter), among)
      const direction = order === 'asc' ? asc : desc
      // Select the page first: a sort would carry every document along.
      const page = db
        .select({ id })
        .from(decisions)
        .where(where)
        .orderBy(direction(sortColumns[sort]), direction(id))
        .offset(offset)
        .limit(limit)
      const [texts, total] = await Promise.all([
        db
          .select({ id, json, agent, created_ms, revision, indexed: isIndexed })
          .from(decisions)
          .where(inArray(id, page))
          .orderBy(direction(sortColumns[sort]), direction(id)),
        db.$count(decisions, where),
      ])
      return { texts, total }
    },
    async walk(filter, after, limit) {
      const from: SQL | undefined = after
        ? sql`(${created_ms}, ${id}) > (${after.created_ms}::float8, ${after.id}::text)`
        : undefined
      return db
        .select(selectedFields)
        .from(decisions)
        .where(and(conditionOf(filter), from))
        .orderBy(asc(created_ms), asc(id))
        .limit(limit)
    },
    groups: (filter, by) => groupRows(db, filter, by),
  }
}

export function edgeReader(db: Database): EdgeReader {
  const { source_id, target_id, edge_type, created_by } = edges
  const ordered = [asc(source_id), asc(target_id), asc(edge_type), asc(created_by)]
  return {
    async of(ids, { direction, types, limit }) {
      const among = ids && textArray(ids)
      const [outgoing, incoming] = [sql`${source_id} = any(${among})`, sql`${target_id} = any(${among})`]
      const places = { outgoing, incoming, both: or(outgoing, incoming) }
      return db
        .select()
        .from(edges)
        .where(and(ids === null ? undefined : places[direction], types && inArray(edge_type, [...types])))
        .orderBy(...(ids === null ? [desc(edges.created_at)] : []), ...ordered)
        .limit(limit)
    },
  }
}
