/** What servers share besides decisions: keyed records and the audit trail of the store port, and rate limits. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type {
  AuditEntry,
  AuditReader,
  AuditWriter,
  KeyedReader,
  KeyedRecord,
  KeyedWriter,
} from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { arrayText, rowsOf } from '../../shared/postgres/rows.ts'
import { type KeyedRow, keyedOf, keyRange } from '../shared.ts'
import { auditExpiry, auditRedaction } from './audit-retention.ts'
import { keyedName, note } from './draft.ts'
import { openLanes } from './lanes.ts'
import { tryLockName } from './locks.ts'
import type { Access, Verb } from './transaction.ts'

const columns = 'r.key, r.value::text as value, r.version, r.expires_ms'
const recordOf = (row: KeyedRow): KeyedRecord => keyedOf({ ...row, key: fromText(row.key) })

/** Finds keyed records, in the order of `keys`. */
export type Find = (collection: string, keys: readonly string[]) => Promise<KeyedRecord[]>

/**
 * Records read just now outside of transactions, null if there was none. The next transaction need not read them again, since its commit
 * compares their versions.
 */
export interface Remembered {
  keep(collection: string, keys: readonly string[], found: readonly KeyedRecord[]): void
  /**
   * Returns each record only once, since a record that changes all the time must not be assumed unchanged. Undefined if it was not read
   * just now.
   */
  take(collection: string, key: string): KeyedRecord | null | undefined
}

interface Question {
  collection: string
  keys: readonly string[]
  resolve(found: KeyedRecord[]): void
  reject(error: unknown): void
}

const named = (collection: string, key: string): string => `${collection}\n${key}`

async function findAll(
  query: Query,
  questions: readonly Pick<Question, 'collection' | 'keys'>[],
): Promise<Map<string, KeyedRecord>> {
  const wanted = questions.flatMap(({ collection, keys }) => keys.map((key) => [collection, toText(key)]))
  const [rows, values] = rowsOf(['text', 'text'], wanted)
  const found = await query<KeyedRow & { collection: string }>(
    `select r.collection, ${columns} from (select distinct * from ${rows} as w (collection, key)) w join keyed_records r using (collection, key)`,
    values,
  )
  return new Map(found.map(({ collection, ...row }) => [named(collection, fromText(row.key)), recordOf(row)]))
}

const pick = (found: Map<string, KeyedRecord>, { collection, keys }: Pick<Question, 'collection' | 'keys'>) =>
  keys.flatMap((key) => found.get(named(collection, key)) ?? [])

const rememberedMs = 1_000
const mostRemembered = 1_000

export function remember(): Remembered {
  // In the order in which they were read.
  const kept = new Map<string, { record: KeyedRecord | null; read_ms: number }>()
  return {
    keep(collection, keys, found) {
      const records = new Map(found.map((record) => [record.key, record]))
      for (const key of keys) {
        const name = named(collection, key)
        kept.delete(name)
        kept.set(name, { record: records.get(key) ?? null, read_ms: performance.now() })
      }
      for (const oldest of kept.keys()) {
        if (kept.size <= mostRemembered) break
        kept.delete(oldest)
      }
    },
    take(collection, key) {
      const name = named(collection, key)
      const one = kept.get(name)
      kept.delete(name)
      return one !== undefined && performance.now() - one.read_ms < rememberedMs ? one.record : undefined
    },
  }
}

/** The most concurrent statements; questions that arrive in the meantime share the next one. */
const lanes = { lanes: 2, least: 8 }

/** Finds committed records; concurrent callers share one statement. */
export function finder({ read }: Pick<Client, 'read'>): Find {
  const ask = openLanes<Question>(lanes, async (queue) => {
    const questions = queue.splice(0)
    try {
      const found = await findAll(read, questions)
      for (const one of questions) one.resolve(pick(found, one))
    } catch (error) {
      for (const { reject } of questions) reject(error)
    }
  })
  return async (collection, keys) =>
    keys.length === 0 ? [] : new Promise((resolve, reject) => ask({ collection, keys, resolve, reject }))
}

export const keyedReader = ({ read }: Client, find: Find, remembered?: Remembered): KeyedReader => ({
  async get(collection, keys) {
    const found = await find(collection, keys)
    remembered?.keep(collection, keys, found)
    return found
  },
  async list(collection, query) {
    const rows = await read<KeyedRow>(
      `select ${columns} from keyed_records r where collection = $1 and key >= $2 and key < $3
       order by key ${query.order === 'desc' ? 'desc' : 'asc'} limit $4::int`,
      [collection, ...keyRange(query).map(toText), query.limit],
    )
    return rows.map(recordOf)
  },
})

export function keyedWriter(access: Access, verb: Verb, find: Find, remembered: Remembered): KeyedWriter {
  const { draft } = access
  /** Sends earlier writes first if they include one of these keys. */
  const apart = async (names: readonly string[]) => {
    if (names.some((name) => draft.keyed.has(name))) await access.engine()
  }
  async function look(collection: string, keys: readonly string[]): Promise<KeyedRecord[]> {
    const records = new Map<string, KeyedRecord | null>()
    if (!access.held)
      for (const key of keys) {
        const known = remembered.take(collection, key)
        if (known === undefined) continue
        access.assume(keyedName(collection, key), { kind: 'keyed', collection, key, version: known?.version ?? 0 })
        records.set(key, known)
      }
    const missing = keys.filter((key) => !records.has(key))
    if (missing.length > 0) {
      const names = missing.map((key) => keyedName(collection, key))
      const question = { collection, keys: missing }
      const read = async (query: Query) =>
        access.held ? pick(await findAll(query, [question]), question) : find(collection, missing)
      // Shared, because many transactions read the same record, such as a breaker, and few write it.
      const found = await access.look(names, read, 'shared')
      for (const record of found) records.set(record.key, record)
      for (const key of missing)
        note(draft, keyedName(collection, key), {
          kind: 'keyed',
          collection,
          key,
          version: records.get(key)?.version ?? 0,
        })
    }
    return keys.flatMap((key) => records.get(key) ?? [])
  }
  /** The version of a record, 0 if there is none; `guess` if it need not be read before the commit. */
  async function versionOf(collection: string, key: string, guess: number): Promise<number> {
    const name = keyedName(collection, key)
    const found = draft.found.get(name)
    if (found?.kind === 'keyed') return found.version
    if (access.held) return (await look(collection, [key]))[0]?.version ?? 0
    access.assume(name, { kind: 'keyed', collection, key, version: guess })
    return guess
  }
  return {
    get: verb(async (collection, keys) => {
      await apart(keys.map((key) => keyedName(collection, key)))
      return keys.length === 0 ? [] : look(collection, keys)
    }),
    put: verb(async (collection, key, value, { expires_ms = null, version } = {}) => {
      const name = keyedName(collection, key)
      await apart([name])
      await access.guard([name])
      if (version !== undefined && (await versionOf(collection, key, version)) !== version)
        throw new StorageError('conflict', `${collection} ${key} is not at version ${version}`)
      draft.keyed.set(name, { collection, key, value: JSON.stringify(value ?? null), expires_ms })
    }),
    delete: verb(async (collection, keys) => {
      const names = keys.map((key) => keyedName(collection, key))
      await apart(names)
      await access.guard(names)
      for (const key of keys)
        draft.keyed.set(keyedName(collection, key), { collection, key, value: null, expires_ms: null })
    }),
    expire: verb(async (collection, now_ms, limit) => {
      const due = 'select from keyed_records where collection = $1 and expires_ms <= $2::float8 limit 1'
      // Nearly always there is none; records that expire in the meantime are left for the next call.
      if (!access.held && (await access.glance((query) => query(due, [collection, now_ms]))).length === 0) return []
      const query = await access.engine()
      // A key that another transaction holds is skipped. The condition is checked again for rows that changed while this statement ran.
      const rows = await query<KeyedRow>(
        `with old as materialized (select key from keyed_records where collection = $1 and expires_ms <= $2::float8
           order by expires_ms, key limit $3::int),
         free as materialized (select key from old where ${tryLockName(`'keyed ' || $1 || ' ' || key`)})
         delete from keyed_records r using free where r.collection = $1 and r.key = free.key and r.expires_ms <= $2::float8
         returning r.key, r.value::text as value, r.version, r.expires_ms`,
        [collection, now_ms, limit],
      )
      const records = rows.map(recordOf).sort((a, b) => a.expires_ms! - b.expires_ms! || (a.key < b.key ? -1 : 1))
      for (const { key } of records) draft.found.delete(keyedName(collection, key))
      return records
    }),
  }
}

export const auditReader = ({ read }: Client): AuditReader => ({
  async list({ since_ms, agent, method, rule, allowed, without, cursor, limit }) {
    const values: unknown[] = []
    const tests = Object.entries({
      'seq <': [cursor, 'bigint'],
      'at_ms >=': [since_ms, 'float8'],
      'agent =': [agent === undefined ? undefined : toText(agent), 'text'],
      'method =': [method === undefined ? undefined : toText(method), 'text'],
      'method <> all': [without?.map(toText), 'text[]'],
      'allowed =': [allowed, 'bool'],
      'rules @>': [rule === undefined ? undefined : [toText(rule)], 'text[]'],
    }).flatMap(([test, [value, type]]) => (value === undefined ? [] : `${test} ($${values.push(value)}::${type})`))
    const rows = await read<{ seq: number; entry: string }>(
      `select seq::float8 as seq, entry::text as entry from audit ${tests.length > 0 ? `where ${tests.join(' and ')}` : ''}
       order by audit.seq desc limit $${values.push(limit)}::int`,
      values,
    )
    return rows.map(({ seq, entry }) => ({ seq, ...(JSON.parse(entry) as AuditEntry) }))
  },
})

export function auditWriter(access: Access, verb: Verb, now: () => number): AuditWriter {
  const append = (entry: AuditEntry): void => {
    const { at, agent, method, request_id, ids, allowed, rules, detail } = entry
    const text = JSON.stringify({ at, agent, method, request_id, ids, allowed, rules, detail: detail ?? null })
    const found = arrayText(rules.map(toText))
    access.draft.audit.push([Date.parse(at), toText(agent), toText(method), allowed, found, text])
  }
  return {
    append: verb(async (entry) => append(entry)),
    expire: verb(auditExpiry(access, append, now)),
    redact: verb(auditRedaction(access, append, now)),
  }
}

/** The tokens in bucket `r` at `excluded.at_ms`. */
const available = `least($2::float8, r.tokens + greatest(0, excluded.at_ms - r.at_ms) * $3::float8)`
const granted = `least($4::float8, floor(${available}))`

const leaseSql = `insert into rate_limits as r (agent, tokens, at_ms, granted)
  values ($1, $2::float8 - least($2::float8, $4::float8), extract(epoch from clock_timestamp()) * 1000, least($2::float8, $4::float8))
  on conflict (agent) do update set tokens = ${available} - ${granted}, granted = ${granted},
    at_ms = greatest(r.at_ms, excluded.at_ms)
  returning granted`

/** Takes up to `tokens` from the bucket of an agent; a new bucket is full. @returns the number of tokens taken */
export const leaser =
  ({ begin }: Client) =>
  async (agent: string, tokens: number, bucket: { per_minute: number; burst: number }): Promise<number> => {
    const rows = await begin((query) =>
      query<{ granted: number }>(leaseSql, [toText(agent), bucket.burst, bucket.per_minute / 60_000, tokens]),
    )
    return rows[0]!.granted
  }
