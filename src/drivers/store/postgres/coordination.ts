/** What servers agree on besides decisions: keyed records, the outbox of missing vectors and the audit trail of the store port, and rate limits. */

import { randomUUID } from 'node:crypto'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type {
  AuditEntry,
  AuditReader,
  AuditWriter,
  KeyedReader,
  KeyedRecord,
  KeyedWriter,
  OutboxEntry,
  OutboxReader,
  OutboxWriter,
} from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { type KeyedRow, keyedOf, keyRange } from '../shared.ts'
import { auditExpiry } from './audit-retention.ts'
import { lockName, tryLockName } from './locks.ts'
import type { Connection, Verb } from './transaction.ts'

const columns = 'key, value::text as value, version, expires_ms'
const recordOf = (row: KeyedRow): KeyedRecord => keyedOf({ ...row, key: fromText(row.key) })

async function find(query: Query, collection: string, keys: readonly string[]): Promise<KeyedRecord[]> {
  if (keys.length === 0) return []
  const rows = await query<KeyedRow>(
    `select ${columns} from keyed_records where collection = $1 and key = any($2::text[])`,
    [collection, keys.map(toText)],
  )
  const found = new Map(rows.map((row) => [fromText(row.key), recordOf(row)]))
  return keys.flatMap((key) => found.get(key) ?? [])
}

export const keyedReader = ({ read }: Client): KeyedReader => ({
  get: (collection, keys) => find(read, collection, keys),
  async list(collection, query) {
    const rows = await read<KeyedRow>(
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
      const rows = await query<KeyedRow>(
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

export const outboxReader = ({ read }: Client): OutboxReader => ({
  async depth() {
    const [row] = await read<{ depth: number }>('select count(*)::int as depth from outbox')
    return row!.depth
  },
})

export const outboxWriter = ({ query }: Connection, verb: Verb): OutboxWriter => ({
  add: verb(async (id: string, now_ms: number) => {
    await query(
      `insert into outbox (id, attempts, due_ms, claim) values ($1, 0, $2::float8, '')
       on conflict (id) do update set attempts = 0, due_ms = excluded.due_ms, claim = '', error = null`,
      [id, now_ms],
    )
  }),
  // What another server has locked it has claimed, or is about to finish with.
  claim: verb((limit: number, lease_ms: number, now_ms: number) =>
    query<OutboxEntry>(
      `with due as (select id, due_ms from outbox where due_ms <= $1::float8 order by due_ms, id limit $2::int
           for update skip locked),
         taken as (update outbox o set attempts = attempts + 1, due_ms = $1::float8 + $3::float8, claim = $4 || '/' || o.id
           from due where o.id = due.id returning o.id, o.attempts - 1 as attempts, o.claim, due.due_ms as due)
       select id, attempts, claim from taken order by due, id`,
      [now_ms, limit, lease_ms, randomUUID()],
    ),
  ),
  finish: verb(async ({ id, claim }: OutboxEntry, retry?: { due_ms: number; error: string }) => {
    if (retry === undefined) await query('delete from outbox where id = $1 and claim = $2', [id, claim])
    else
      await query(`update outbox set due_ms = $3::float8, error = $4, claim = '' where id = $1 and claim = $2`, [
        id,
        claim,
        retry.due_ms,
        toText(retry.error),
      ])
  }),
})

export const auditReader = ({ read }: Client): AuditReader => ({
  async list({ since_ms, agent, method, rule, allowed, cursor, limit }) {
    const values: unknown[] = []
    const tests = Object.entries({
      'seq <': [cursor, 'bigint'],
      'at_ms >=': [since_ms, 'float8'],
      'agent =': [agent === undefined ? undefined : toText(agent), 'text'],
      'method =': [method === undefined ? undefined : toText(method), 'text'],
      'allowed =': [allowed, 'bool'],
      'rules @>': [rule === undefined ? undefined : [toText(rule)], 'text[]'],
    }).flatMap(([test, [value, type]]) => (value === undefined ? [] : `${test} $${values.push(value)}::${type}`))
    const rows = await read<{ seq: number; entry: string }>(
      `select seq::float8 as seq, entry::text as entry from audit ${tests.length > 0 ? `where ${tests.join(' and ')}` : ''}
       order by audit.seq desc limit $${values.push(limit)}::int`,
      values,
    )
    return rows.map(({ seq, entry }) => ({ seq, ...(JSON.parse(entry) as AuditEntry) }))
  },
})

export function auditWriter(connection: Connection, verb: Verb, now: () => number): AuditWriter {
  const append = async (entry: AuditEntry): Promise<void> => {
    const { at, agent, method, request_id, ids, allowed, rules, detail } = entry
    await connection.query(
      `insert into audit (at_ms, agent, method, allowed, rules, entry)
       values ($1::float8, $2, $3, $4::bool, $5::text[], $6::text::json)`,
      [
        Date.parse(at),
        toText(agent),
        toText(method),
        allowed,
        rules.map(toText),
        JSON.stringify({ at, agent, method, request_id, ids, allowed, rules, detail: detail ?? null }),
      ],
    )
  }
  return { append: verb(append), expire: verb(auditExpiry(connection, append, now)) }
}

/** What is in the bucket `r` at `excluded.at_ms`. */
const available = `least($2::float8, r.tokens + greatest(0, excluded.at_ms - r.at_ms) * $3::float8)`
const granted = `least($4::float8, floor(${available}))`

const leaseSql = `insert into rate_limits as r (agent, tokens, at_ms, granted)
  values ($1, $2::float8 - least($2::float8, $4::float8), extract(epoch from clock_timestamp()) * 1000, least($2::float8, $4::float8))
  on conflict (agent) do update set tokens = ${available} - ${granted}, granted = ${granted},
    at_ms = greatest(r.at_ms, excluded.at_ms)
  returning granted`

/** Takes up to `tokens` from the bucket of an agent; a bucket that is new is full. @returns how many there were */
export const leaser =
  ({ begin }: Client) =>
  async (agent: string, tokens: number, bucket: { per_minute: number; burst: number }): Promise<number> => {
    const rows = await begin((query) =>
      query<{ granted: number }>(leaseSql, [toText(agent), bucket.burst, bucket.per_minute / 60_000, tokens]),
    )
    return rows[0]!.granted
  }
