/** Removes the oldest entries of the audit trail, and the detail of some. Triggers allow either only after the entry that records it. */

import { checkRedaction, markMethods, redactionEntry, retentionEntry } from '../../../../sdk/storage/audit.ts'
import type { AuditRedaction } from '../../../../sdk/storage/erasure.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { AuditEntry, AuditExpiry } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'

/** @param append adds an entry at the end */
export function auditExpiry({ prepare }: Statements, append: (entry: AuditEntry) => void, now: () => number) {
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
export function auditRedaction({ prepare }: Statements, append: (entry: AuditEntry) => void, now: () => number) {
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
