/** Keyed records, as the store port has them. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { KeyedReader, KeyedRecord, KeyedWriter } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import { keyRange } from '../shared.ts'
import type { Statements } from './statements.ts'

type Row = Omit<KeyedRecord, 'value'> & { value: string }
const columns = 'key, value, version, expires_ms'
const recordOf = ({ key, value, version, expires_ms }: Row): KeyedRecord => ({
  key,
  value: JSON.parse(value),
  version,
  expires_ms,
})

function getter({ prepare }: Statements) {
  const find = prepare<Row, [string, string]>(`select ${columns} from keyed_records where collection = ? and key = ?`)
  return (collection: string, keys: readonly string[]): KeyedRecord[] =>
    keys.flatMap((key) => find.get(collection, key) ?? []).map(recordOf)
}

export function keyedReader(statements: Statements): KeyedReader {
  const get = getter(statements)
  const lister = (order: 'asc' | 'desc') =>
    statements.prepare<Row, [string, string, string, number]>(
      `select ${columns} from keyed_records where collection = ? and key >= ? and key < ? order by key ${order} limit ?`,
    )
  const list = { asc: lister('asc'), desc: lister('desc') }
  return {
    get: async (collection, keys) => get(collection, keys),
    list: async (collection, query) =>
      list[query.order ?? 'asc'].all(collection, ...keyRange(query), query.limit).map(recordOf),
  }
}

export function keyedWriter(statements: Statements): (verb: Verb) => KeyedWriter {
  const { prepare } = statements
  const get = getter(statements)
  const versionOf = prepare<{ version: number }, [string, string]>(
    'select version from keyed_records where collection = ? and key = ?',
  )
  const put = prepare<unknown, [string, string, string, number | null]>(
    `insert into keyed_records (collection, key, version, value, expires_ms) values (?1, ?2, 1, ?3, ?4)
     on conflict (collection, key) do update set version = version + 1, value = ?3, expires_ms = ?4`,
  )
  const remove = prepare<unknown, [string, string]>('delete from keyed_records where collection = ? and key = ?')
  const expire = prepare<Row, [string, number, number]>(
    `delete from keyed_records where rowid in (select rowid from keyed_records where collection = ? and expires_ms <= ?
     order by expires_ms, key limit ?) returning ${columns}`,
  )
  return (verb) => ({
    get: verb(get),
    put: verb((collection, key, value, { expires_ms = null, version } = {}) => {
      const stored = version === undefined ? version : (versionOf.get(collection, key)?.version ?? 0)
      if (stored !== version)
        throw new StorageError('conflict', `${collection} ${key} is at version ${stored}, not ${version}`)
      put.run(collection, key, JSON.stringify(value ?? null), expires_ms)
    }),
    delete: verb((collection, keys) => {
      for (const key of keys) remove.run(collection, key)
    }),
    expire: verb((collection, now_ms, limit) => expire.all(collection, now_ms, limit).map(recordOf)),
  })
}
