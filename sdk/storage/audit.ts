/**
 * The audit trail of the store port: an append-only list of entries. Removing the oldest entries, or the detail of some, adds an entry that
 * records the removal.
 */
import { StorageError } from './errors.ts'

/** One entry of the trail: a write, or an evaluation of guardrails. */
export interface AuditEntry {
  /** RFC 3339, UTC. */
  at: string
  agent: string
  method: string
  request_id: string
  /** Ids of the decisions concerned. */
  ids: string[]
  /** Null if nothing was evaluated. */
  allowed: boolean | null
  /** Ids of the rules that fired. */
  rules: string[]
  /** Free-form JSON: digest, input with secrets redacted, verdict, policy hash, duration. */
  detail: unknown
}

/** An entry of the trail with its position. */
export interface StoredAuditEntry extends AuditEntry {
  /** Ascending in commit order. */
  seq: number
}

/** Reads the trail. */
export interface AuditReader {
  /** Newest first; only entries with a `seq` below `cursor`, if it is given. */
  list(query: {
    since_ms?: number
    agent?: string
    method?: string
    /** Methods whose entries are left out. */
    without?: readonly string[]
    rule?: string
    allowed?: boolean
    cursor?: number
    limit: number
  }): Promise<StoredAuditEntry[]>
}

/** Which entries to remove: the oldest before a time. */
export interface AuditExpiry {
  before_ms: number
  /** Methods whose entries are kept. */
  keep: readonly string[]
  limit: number
  /** Time of the entry that records the removal. [the clock of the store] */
  at_ms?: number
}

/** Method of the entry that records removed entries. Such an entry is never removed or changed. */
export const retentionMethod = 'audit.retention'

/**
 * The entry for one batch: how many entries were removed, and from before which time.
 * @example
 * ```ts
 * await append(retentionEntry(removed, before_ms, now()))
 * ```
 */
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

/** Method of the entry that records redacted entries. Such an entry is never changed. */
export const redactionMethod = 'audit.redaction'

/** Entries of these methods record what was removed from the trail, so they are never changed. */
export const markMethods: readonly string[] = [retentionMethod, redactionMethod]

/** The most entries that one call may change: the engine looks up each of them in the entry that records the change. */
export const mostRedacted = 500

/**
 * The entry for one call: which entries lost their detail, and the record of the erasure that caused it.
 * @example
 * ```ts
 * await append(redactionEntry(lines.map(({ seq }) => seq), redacted_by, now()))
 * ```
 */
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

/**
 * Checks what a driver may redact in one call.
 * @throws StorageError `invalid` for more entries than {@link mostRedacted}, or a detail without this `redacted_by`
 * @example
 * ```ts
 * checkRedaction(lines, redacted_by) // before anything is changed
 * ```
 */
export function checkRedaction(
  lines: readonly { seq: number; detail: Record<string, unknown> }[],
  redacted_by: string,
): void {
  if (lines.length > mostRedacted) throw new StorageError('invalid', `more than ${mostRedacted} lines at once`)
  const odd = lines.find(({ detail }) => detail.redacted_by !== redacted_by)
  if (odd) throw new StorageError('invalid', `the detail of line ${odd.seq} lacks the id of its redaction`)
}
