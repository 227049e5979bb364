/** Keyed records, as the store port has them. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { KeyedReader, KeyedRecord, KeyedWriter } from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { keyRange } from '../shared.ts'
import { lockName, tryLockName } from './locks.ts'
import type { Connection, Verb } from './transaction.ts'

type Row = Omit<KeyedRecord, 'value'> & { value: string }
const columns = 'key, value::text as value, version, expires_ms'
const recordOf = ({ key, value, version, expires_ms }: Row): KeyedRecord => ({
  key: fromText(key),
  value: JSON.parse(value),
  version,
  expires_ms,
})

async function find(query: Query, collection: string, keys: readonly string[]): Promise<KeyedRecord[]> {
  if (keys.length === 0) return []
  const rows = await query<Row>(
    `select ${columns} from keyed_records where collection = $1 and key = any($2::text[])`,
    [collection, keys.map(toText)],
  )
  const found = new Map(rows.map((row) => [fromText(row.key), recordOf(row)]))
  return keys.flatMap((key) => found.get(key) ?? [])
}

export const keyedReader = ({ read }: Client): KeyedReader => ({
  get: (collection, keys) => find(read, collection, keys),
  async list(collection, query) {
    const rows = await read<Row>(
      `select ${columns} from keyed_records where collection = $1 and key >= $2 and key < $3
       order by key ${query.order === 'desc' ? 'desc' : 'asc'} limit $4::int`,
      [collection, ...keyRange(query).map(toText), query.limit],
    )
    return rows.map(recordOf)
  },
})

/** Creates or replaces; only where nothing is stored; only where this version is. */
const putSql = {
  any: `with held as materialized (select ${lockName(`'keyed ' || $1 || ' ' || $2`)})
    insert into keyed_records as r (collection, key, version, value, expires_ms)
    select $1, $2, 1, $3::text::json, $4::float8 from held
    on conflict (collection, key) do update set version = r.version + 1, value = excluded.value, expires_ms = excluded.expires_ms`,
  none: `insert into keyed_records (collection, key, version, value, expires_ms) values ($1, $2, 1, $3::text::json, $4::float8)
    on conflict do nothing returning 1`,
  version: `update keyed_records set version = version + 1, value = $3::text::json, expires_ms = $4::float8
    where collection = $1 and key = $2 and version = $5::int returning 1`,
}

export function keyedWriter({ query, lock }: Connection, verb: Verb): KeyedWriter {
  const locked = (collection: string, keys: readonly string[]) =>
    lock(
      'keyed',
      keys.map((key) => `${collection} ${key}`),
    )
  return {
    get: verb(async (collection, keys) => {
      await locked(collection, keys)
      return find(query, collection, keys)
    }),
    put: verb(async (collection, key, value, { expires_ms = null, version } = {}) => {
      const values = [collection, toText(key), JSON.stringify(value ?? null), expires_ms]
      if (version === undefined) return void (await query(putSql.any, values))
      await locked(collection, [key])
      const put = version === 0 ? await query(putSql.none, values) : await query(putSql.version, [...values, version])
      if (put.length === 0) throw new StorageError('conflict', `${collection} ${key} is not at version ${version}`)
    }),
    delete: verb(async (collection, keys) => {
      if (keys.length === 0) return
      await locked(collection, keys)
      await query('delete from keyed_records where collection = $1 and key = any($2::text[])', [
        collection,
        keys.map(toText),
      ])
    }),
    expire: verb(async (collection, now_ms, limit) => {
      // A key that somebody holds is skipped; the condition is looked at again on rows that changed while this statement ran.
      const rows = await query<Row>(
        `with old as materialized (select key from keyed_records where collection = $1 and expires_ms <= $2::float8
           order by expires_ms, key limit $3::int),
         free as materialized (select key from old where ${tryLockName(`'keyed ' || $1 || ' ' || key`)})
         delete from keyed_records r using free where r.collection = $1 and r.key = free.key and r.expires_ms <= $2::float8
         returning r.key, r.value::text as value, r.version, r.expires_ms`,
        [collection, now_ms, limit],
      )
      return rows.map(recordOf).sort((a, b) => a.expires_ms! - b.expires_ms! || (a.key < b.key ? -1 : 1))
    }),
  }
}
