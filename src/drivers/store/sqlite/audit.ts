/** The audit trail. */
import type { AuditEntry, AuditReader, AuditWriter, StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import type { Statements } from './statements.ts'

type Row = Omit<StoredAuditEntry, 'ids' | 'allowed' | 'rules' | 'detail'> &
  Record<'ids' | 'rules' | 'detail', string> & { allowed: number | null }

export function auditReader({ prepare }: Statements): AuditReader {
  const statements = new Map<string, ReturnType<typeof prepare<Row>>>()
  return {
    async list({ since_ms, agent, method, rule, allowed, cursor, limit }) {
      const tests = Object.entries({
        'seq < ?': cursor,
        'at_ms >= ?': since_ms,
        'agent = ?': agent,
        'method = ?': method,
        'allowed = ?': allowed === undefined ? undefined : Number(allowed),
        'exists (select 1 from audit_rules r where r.rule = ? and r.seq = audit.seq)': rule,
      }).flatMap(([test, value]) => (value === undefined ? [] : [{ test, value }]))
      const where = tests.map(({ test }) => test).join(' and ') || 'true'
      const select =
        statements.get(where) ??
        prepare<Row>(
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

export function auditWriter({ prepare }: Statements): (verb: Verb) => AuditWriter {
  const append = prepare<{ seq: number }>(
    `insert into audit (at, at_ms, agent, method, request_id, ids, allowed, rules, detail)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq`,
  )
  const addRule = prepare<unknown, [string, number]>('insert or ignore into audit_rules (rule, seq) values (?, ?)')
  return (verb) => ({
    append: verb(({ at, agent, method, request_id, ids, allowed, rules, detail }: AuditEntry) => {
      const { seq } = append.get(
        at,
        Date.parse(at),
        agent,
        method,
        request_id,
        JSON.stringify(ids),
        allowed === null ? null : allowed ? 1 : 0,
        JSON.stringify(rules),
        JSON.stringify(detail ?? null),
      )!
      for (const rule of rules) addRule.run(rule, seq)
    }),
  })
}
