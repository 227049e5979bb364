/** The line that the trail keeps of the lines whose detail was taken out. */
import { retentionMethod } from './audit-retention.ts'
import { StorageError } from './errors.ts'
import type { AuditEntry } from './store.ts'

/** Its method: such a line is never changed itself. */
export const redactionMethod = 'audit.redaction'

/** Lines of these methods say what went from the trail: they stay as they are. */
export const markMethods: readonly string[] = [retentionMethod, redactionMethod]

/** Lines that one call may change: the engine looks each of them up in the line that says so. */
export const mostRedacted = 500

/** The line of one call: which lines lost their detail, and the record of the erasure that took it. */
export const redactionEntry = (lines: readonly number[], redacted_by: string, now_ms: number): AuditEntry => ({
  at: new Date(now_ms).toISOString(),
  agent: 'cstp',
  method: redactionMethod,
  request_id: 'redaction',
  ids: [],
  allowed: null,
  rules: [],
  detail: { redacted_by, lines: [...lines] },
})

/** @throws StorageError `invalid` for lines that no driver may change so */
export function checkRedaction(
  lines: readonly { seq: number; detail: Record<string, unknown> }[],
  redacted_by: string,
): void {
  if (lines.length > mostRedacted) throw new StorageError('invalid', `more than ${mostRedacted} lines at once`)
  const odd = lines.find(({ detail }) => detail.redacted_by !== redacted_by)
  if (odd) throw new StorageError('invalid', `the detail of line ${odd.seq} does not say what redacted it`)
}
