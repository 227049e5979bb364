/** The audit trail. */
import { and, desc, eq, exists, gte, lt } from 'drizzle-orm'
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { AuditEntry, AuditReader, AuditWriter } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import { audit, audit_rules } from './schema.ts'
import type { Statements } from './statements.ts'

export const auditReader = (db: BunSQLiteDatabase): AuditReader => ({
  async list({ since_ms, agent, method, rule, allowed, cursor, limit }) {
    const fired = (name: string) =>
      db
        .select()
        .from(audit_rules)
        .where(and(eq(audit_rules.rule, name), eq(audit_rules.seq, audit.seq)))
    const rows = await db
      .select()
      .from(audit)
      .where(
        and(
          cursor === undefined ? undefined : lt(audit.seq, cursor),
          since_ms === undefined ? undefined : gte(audit.at_ms, since_ms),
          agent === undefined ? undefined : eq(audit.agent, agent),
          method === undefined ? undefined : eq(audit.method, method),
          allowed === undefined ? undefined : eq(audit.allowed, allowed),
          rule === undefined ? undefined : exists(fired(rule)),
        ),
      )
      .orderBy(desc(audit.seq))
      .limit(limit)
    return rows.map(({ at_ms: _, ...entry }) => entry)
  },
})

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
