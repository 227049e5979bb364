/** Removal of the oldest lines of the audit trail. Triggers let a line go only after the line that says so. */
import { retentionEntry, retentionMethod } from '../../../../sdk/storage/audit-retention.ts'
import type { AuditEntry, AuditExpiry } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'

/** @param append adds a line at the end */
export function auditExpiry({ prepare }: Statements, append: (entry: AuditEntry) => void, now: () => number) {
  const oldest = prepare<{ seq: number; rules: string }, [number, string, number]>(
    `select seq, rules from audit where at_ms < ? and method not in (select value from json_each(?))
     order by at_ms, seq limit ?`,
  )
  const remove = prepare<unknown, [number]>('delete from audit where seq = ?')
  const removeRule = prepare<unknown, [string, number]>('delete from audit_rules where rule = ? and seq = ?')
  return ({ before_ms, keep, limit }: AuditExpiry): number => {
    const old = oldest.all(before_ms, JSON.stringify([...keep, retentionMethod]), limit)
    if (old.length === 0) return 0
    append(retentionEntry(old.length, before_ms, now()))
    for (const { seq, rules } of old) {
      remove.run(seq)
      for (const rule of JSON.parse(rules) as string[]) removeRule.run(rule, seq)
    }
    return old.length
  }
}
