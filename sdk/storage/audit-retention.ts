/** The line that the trail keeps of the lines that were removed from it. */
import type { AuditEntry } from './store.ts'

/** Its method: such a line is never removed or changed itself. */
export const retentionMethod = 'audit.retention'

/** The line of one batch: how many were removed, and up to when. */
export const retentionEntry = (removed: number, before_ms: number, now_ms: number): AuditEntry => ({
  at: new Date(now_ms).toISOString(),
  agent: 'cstp',
  method: retentionMethod,
  request_id: 'retention',
  ids: [],
  allowed: null,
  rules: [],
  detail: { removed, before: new Date(before_ms).toISOString(), before_ms },
})
