/** Keyed records: what servers share besides decisions. */
import { and, asc, desc, eq, gte, lt, lte, sql } from 'drizzle-orm'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { KeyedReader, KeyedRecord, KeyedWriter } from '../../../../sdk/storage/store.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { keyedOf, keyRange } from '../shared.ts'
import { keyed_records as k } from './schema.ts'
import { textArray } from './statements.ts'
import { type Access, keyOf } from './transaction.ts'

const columns = { key: k.key, value: sql<string>`${k.value}::text`, version: k.version, expires_ms: k.expires_ms }

type Row = Parameters<typeof keyedOf>[0]

const find = (db: Database, collection: string, keys: readonly string[]): PromiseLike<Row[]> =>
  db
    .select(columns)
    .from(k)
    .where(and(eq(k.collection, collection), sql`${k.key} = any(${textArray(keys)})`))

/** The records of rows, in the order of their keys. */
function inOrder(keys: readonly string[], rows: readonly Row[]): KeyedRecord[] {
  const found = new Map(rows.map((row) => [row.key, row]))
  return keys.flatMap((key) => found.get(key) ?? []).map(keyedOf)
}

export const keyedReader = (db: Database): KeyedReader => ({
  get: async (collection, keys) => (keys.length === 0 ? [] : inOrder(keys, await find(db, collection, keys))),
  async list(collection, query) {
    const [from, end] = keyRange(query)
    const rows = await db
      .select(columns)
      .from(k)
      .where(and(eq(k.collection, collection), gte(k.key, from), lt(k.key, end)))
      .orderBy(query.order === 'desc' ? desc(k.key) : asc(k.key))
      .limit(query.limit)
    return rows.map(keyedOf)
  },
})

export function keyedWriter(access: Access): KeyedWriter {
  const { verb } = access
  const get = async (collection: string, keys: readonly string[]): Promise<KeyedRecord[]> => {
    if (keys.length === 0) return []
    const names = keys.map((key) => keyOf.keyed(collection, key))
    return inOrder(keys, await access.readShared(JSON.stringify(names), names, (db) => find(db, collection, keys)))
  }
  return {
    get: verb(get),
    put: verb(async (collection, key, value, { expires_ms = null, version } = {}) => {
      if (version !== undefined && ((await get(collection, [key]))[0]?.version ?? 0) !== version)
        throw new StorageError('conflict', `${collection} ${key} is not at version ${version}`)
      const text = JSON.stringify(value ?? null)
      const names = [keyOf.keyed(collection, key)]
      access.write(names, ({ putKeyed }) => putKeyed({ collection, key, value: text, expires_ms }))
    }),
    delete: verb((collection, keys) => {
      for (const key of keys)
        access.write([keyOf.keyed(collection, key)], ({ deleteKeyed }) => deleteKeyed(collection, key))
    }),
    expire: verb(async (collection, now_ms, limit) => {
      const isDue = and(eq(k.collection, collection), lte(k.expires_ms, now_ms))
      const due = await access.read([], (db) =>
        db.select({ key: k.key }).from(k).where(isDue).orderBy(asc(k.expires_ms), asc(k.key)).limit(limit),
      )
      // Nearly always.
      if (due.length === 0) return []
      access.requireAlone()
      const keys = due.map(({ key }) => key)
      const rows = await access.read([], (db) =>
        db
          .delete(k)
          .where(and(isDue, sql`${k.key} = any(${textArray(keys)})`))
          .returning(columns),
      )
      return rows.map(keyedOf).sort((a, b) => a.expires_ms! - b.expires_ms! || (a.key < b.key ? -1 : 1))
    }),
  }
}
