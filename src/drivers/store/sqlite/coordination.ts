/** What servers share besides decisions: the keyed records and the audit trail of the store port. */
import { checkRedaction, markMethods, redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import type { AuditRedaction } from '../../../../sdk/storage/erasure.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Verb } from '../../../../sdk/storage/members.ts'
import type {
  AuditEntry,
  AuditExpiry,
  AuditReader,
  KeyedReader,
  KeyedRecord,
  KeyedWriter,
  StoredAuditEntry,
} from '../../../../sdk/storage/store.ts'
import { auditTexts } from '../../../core/canonical.ts'
import { type KeyedRow, keyedOf, keyRange } from '../shared.ts'
import type { Statements } from './connect.ts'

const columns = 'key, value, version, expires_ms'

function getter({ prepare }: Statements) {
  const find = prepare<KeyedRow, [string, string]>(
    `select ${columns} from keyed_records where collection = ? and key = ?`,
  )
  return (collection: string, keys: readonly string[]): KeyedRecord[] =>
    keys.flatMap((key) => find.get(collection, key) ?? []).map(keyedOf)
}

export function keyedReader(statements: Statements): KeyedReader {
  const get = getter(statements)
  const lister = (order: 'asc' | 'desc') =>
    statements.prepare<KeyedRow, [string, string, string, number]>(
      `select ${columns} from keyed_records where collection = ? and key >= ? and key < ? order by key ${order} limit ?`,
    )
  const list = { asc: lister('asc'), desc: lister('desc') }
  return {
    get: async (collection, keys) => get(collection, keys),
    list: async (collection, query) =>
      list[query.order ?? 'asc'].all(collection, ...keyRange(query), query.limit).map(keyedOf),
  }
}

/** Creates a keyed record or replaces it. */
export function keyedPut({ prepare }: Statements) {
  const put = prepare<unknown, [string, string, string, number | null]>(
    `insert into keyed_records (collection, key, version, value, expires_ms) values (?1, ?2, 1, ?3, ?4)
     on conflict (collection, key) do update set version = version + 1, value = ?3, expires_ms = ?4`,
  )
  return (collection: string, key: string, value: unknown, expires_ms: number | null): void =>
    void put.run(collection, key, JSON.stringify(value ?? null), expires_ms)
}

export function keyedWriter(statements: Statements): (verb: Verb) => KeyedWriter {
  const { prepare } = statements
  const get = getter(statements)
  const put = keyedPut(statements)
  const versionOf = prepare<{ version: number }, [string, string]>(
    'select version from keyed_records where collection = ? and key = ?',
  )
  const remove = prepare<unknown, [string, string]>('delete from keyed_records where collection = ? and key = ?')
  const expire = prepare<KeyedRow, [string, number, number]>(
    `delete from keyed_records where rowid in (select rowid from keyed_records where collection = ? and expires_ms <= ?
     order by expires_ms, key limit ?) returning ${columns}`,
  )
  return (verb) => ({
    get: verb(get),
    put: verb((collection, key, value, { expires_ms = null, version } = {}) => {
      const stored = version === undefined ? version : (versionOf.get(collection, key)?.version ?? 0)
      if (stored !== version)
        throw new StorageError('conflict', `${collection} ${key} is at version ${stored}, not ${version}`)
      put(collection, key, value, expires_ms)
    }),
    delete: verb((collection, keys) => {
      for (const key of keys) remove.run(collection, key)
    }),
    expire: verb((collection, now_ms, limit) => expire.all(collection, now_ms, limit).map(keyedOf)),
  })
}

type AuditRow = Omit<StoredAuditEntry, 'ids' | 'allowed' | 'rules' | 'detail'> &
  Record<'ids' | 'rules' | 'detail', string> & { allowed: number | null }

export function auditReader({ prepare }: Statements): AuditReader {
  const statements = new Map<string, ReturnType<typeof prepare<AuditRow>>>()
  return {
    async list({ since_ms, agent, method, rule, allowed, without, cursor, limit }) {
      const tests = Object.entries({
        'seq < ?': cursor,
        'at_ms >= ?': since_ms,
        'agent = ?': agent,
        'method = ?': method,
        'method not in (select value from json_each(?))': without && JSON.stringify(without),
        'allowed = ?': allowed === undefined ? undefined : Number(allowed),
        'exists (select 1 from audit_rules r where r.rule = ? and r.seq = audit.seq)': rule,
      }).flatMap(([test, value]) => (value === undefined ? [] : [{ test, value }]))
      const where = tests.map(({ test }) => test).join(' and ') || 'true'
      const select =
        statements.get(where) ??
        prepare<AuditRow>(
          `select seq, at, agent, method, request_id, ids, allowed, rules, detail from audit where ${where}
           order by seq desc limit ?`,
        )
      statements.set(where, select)
      return select.all(...tests.map(({ value }) => value), limit).map((row) => ({
        ...row,
        ids: JSON.parse(row.ids),
        allowed: row.allowed === null ? null : row.allowed === 1,
        rules: JSON.parse(row.rules),
        detail: JSON.parse(row.detail),
      }))
    },
  }
}

/** What writes the trail inside a transaction. */
export function auditWriter(statements: Statements, now: () => number) {
  const { prepare } = statements
  const insert = prepare<{ seq: number }>(
    `insert into audit (at, at_ms, agent, method, request_id, ids, allowed, rules, detail)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq`,
  )
  const addRule = prepare<unknown, [string, number]>('insert or ignore into audit_rules (rule, seq) values (?, ?)')
  const append = (entry: AuditEntry): void => {
    const { at, agent, method, request_id, allowed } = entry
    const { ids, rules, detail } = auditTexts(entry)
    const { seq } = insert.get(
      at,
      Date.parse(at),
      agent,
      method,
      request_id,
      ids,
      allowed === null ? null : allowed ? 1 : 0,
      rules,
      detail,
    )!
    for (const rule of entry.rules) addRule.run(rule, seq)
  }
  return {
    append,
    expire: auditExpiry(statements, append, now),
    redact: auditRedaction(statements, append, now),
  }
}

// Removing the oldest entries of the trail, and the detail of some. Triggers allow either only after the entry that records it.

/** @param append adds an entry at the end */
function auditExpiry({ prepare }: Statements, append: (entry: AuditEntry) => void, now: () => number) {
  const oldest = prepare<{ seq: number; rules: string }, [number, string, number]>(
    `select seq, rules from audit where at_ms < ? and method not in (select value from json_each(?))
     order by at_ms, seq limit ?`,
  )
  const remove = prepare<unknown, [number]>('delete from audit where seq = ?')
  const removeRule = prepare<unknown, [string, number]>('delete from audit_rules where rule = ? and seq = ?')
  return ({ before_ms, keep, limit, at_ms = now() }: AuditExpiry): number => {
    const old = oldest.all(before_ms, JSON.stringify([...keep, ...markMethods]), limit)
    if (old.length === 0) return 0
    append(retentionEntry(old.length, before_ms, at_ms))
    for (const { seq, rules } of old) {
      remove.run(seq)
      for (const rule of JSON.parse(rules) as string[]) removeRule.run(rule, seq)
    }
    return old.length
  }
}

/** @param append adds an entry at the end */
function auditRedaction({ prepare }: Statements, append: (entry: AuditEntry) => void, now: () => number) {
  const find = prepare<unknown, [number]>('select 1 from audit where seq = ?')
  const change = prepare<unknown, [string, number]>('update audit set detail = ? where seq = ?')
  return ({ lines, redacted_by, at_ms = now() }: AuditRedaction): void => {
    checkRedaction(lines, redacted_by)
    if (lines.length === 0) return
    const seqs = lines.map(({ seq }) => seq)
    const missing = seqs.find((seq) => find.get(seq) === null)
    if (missing !== undefined) throw new StorageError('not_found', `there is no line ${missing} in the audit trail`)
    append(redactionEntry(seqs, redacted_by, at_ms))
    for (const { seq, detail } of lines) change.run(JSON.stringify(detail), seq)
  }
}
