/** The audit trail. Triggers allow the removal of entries and of details only after the entry that records it. */

import { and, asc, desc, eq, gte, lt, notInArray, sql } from 'drizzle-orm'
import { checkRedaction, markMethods, redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import type { AuditRedaction } from '../../../../sdk/storage/erasure.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { AuditEntry, AuditExpiry, AuditReader } from '../../../../sdk/storage/store.ts'
import { jsonText } from '../../shared/postgres/columns.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { audit } from './schema.ts'
import { textArray } from './statements.ts'
import type { Access } from './transaction.ts'

const { seq, at_ms, agent, method, allowed, rules } = audit
const columns = { seq, entry: sql<string>`${audit.entry}::text` }

export const auditReader = (db: Database): AuditReader => ({
  async list(query) {
    const given = <T, C>(value: T | undefined, condition: (value: T) => C) =>
      value === undefined ? undefined : condition(value)
    const rows = await db
      .select(columns)
      .from(audit)
      .where(
        and(
          given(query.cursor, (value) => lt(seq, value)),
          given(query.since_ms, (value) => gte(at_ms, value)),
          given(query.agent, (value) => eq(agent, value)),
          given(query.method, (value) => eq(method, value)),
          given(query.without, (values) => notInArray(method, [...values])),
          given(query.allowed, (value) => eq(allowed, value)),
          given(query.rule, (value) => sql`${rules} @> ${textArray([value])}`),
        ),
      )
      .orderBy(desc(seq))
      .limit(query.limit)
    return rows.map((row) => ({ seq: row.seq, ...(JSON.parse(row.entry) as AuditEntry) }))
  },
})

/** What writes the trail inside a transaction. */
export function auditWriter(access: Access, now: () => number) {
  const append = ({ detail = null, ...entry }: AuditEntry): void => {
    const { at, request_id, ids, ...fields } = entry
    // In the order that a trigger relies on, with the detail last.
    const ordered = { at, agent: fields.agent, method: fields.method, request_id, ids, allowed: fields.allowed }
    const text = JSON.stringify({ ...ordered, rules: fields.rules, detail })
    access.write([], ({ insertAudit }) =>
      insertAudit({ ...fields, rules: [...fields.rules], at_ms: Date.parse(at), entry: text }),
    )
  }
  return {
    append,
    async expire({ before_ms, keep, limit, at_ms: noted_ms = now() }: AuditExpiry): Promise<number> {
      access.requireAlone()
      const old = await access.read([], (db) =>
        db
          .select({ seq })
          .from(audit)
          .where(and(lt(at_ms, before_ms), notInArray(method, [...keep, ...markMethods])))
          .orderBy(asc(at_ms), asc(seq))
          .limit(limit),
      )
      if (old.length === 0) return 0
      append(retentionEntry(old.length, before_ms, noted_ms))
      const seqs = old.map((row) => row.seq)
      access.write([], ({ send }) => send((db) => db.delete(audit).where(inSeqs(seqs))))
      return old.length
    },
    async redact({ lines, redacted_by, at_ms: noted_ms = now() }: AuditRedaction): Promise<void> {
      checkRedaction(lines, redacted_by)
      if (lines.length === 0) return
      const seqs = lines.map((line) => line.seq)
      access.requireAlone()
      const found = await access.read([], (db) => db.select(columns).from(audit).where(inSeqs(seqs)))
      if (found.length !== seqs.length) throw new StorageError('not_found', 'an audit entry does not exist')
      append(redactionEntry(seqs, redacted_by, noted_ms))
      const details = new Map(lines.map((line) => [line.seq, line.detail]))
      for (const { seq: own, entry } of found) {
        const text = JSON.stringify({ ...JSON.parse(entry), detail: details.get(own) })
        access.write([], ({ send }) =>
          send((db) =>
            db
              .update(audit)
              .set({ entry: jsonText(text) })
              .where(eq(seq, own)),
          ),
        )
      }
    },
  }
}

const inSeqs = (seqs: readonly number[]) => sql`${seq} = any(${sql.param(seqs.map(String))}::text[]::bigint[])`
