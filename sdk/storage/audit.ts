/**
 * The audit trail of the store port: lines that are only added; what removes the oldest of them, or takes the detail out of some, leaves a
 * line that says so.
 */
import { StorageError } from './errors.ts'

/** One line of the trail: a write, or an evaluation of guardrails. */
export interface AuditEntry {
  /** RFC 3339, UTC. */
  at: string
  agent: string
  method: string
  request_id: string
  /** Ids of the decisions concerned. */
  ids: string[]
  /** Null where nothing was evaluated. */
  allowed: boolean | null
  /** Ids of the rules that fired. */
  rules: string[]
  /** Free-form JSON: digest, input with secrets redacted, verdict, policy hash, duration. */
  detail: unknown
}

/** A line of the trail with its place. */
export interface StoredAuditEntry extends AuditEntry {
  /** Ascending in the order of commits. */
  seq: number
}

/** Reads the trail. */
export interface AuditReader {
  /** Newest first, below `cursor` where given. */
  list(query: {
    since_ms?: number
    agent?: string
    method?: string
    /** Methods whose lines are left out. */
    without?: readonly string[]
    rule?: string
    allowed?: boolean
    cursor?: number
    limit: number
  }): Promise<StoredAuditEntry[]>
}

/** Which lines of the trail go: the oldest before a time. */
export interface AuditExpiry {
  before_ms: number
  /** Methods whose lines stay. */
  keep: readonly string[]
  limit: number
  /** Time of the line that says so. [the clock of the store] */
  at_ms?: number
}

/** The trail is append-only: one verb removes the oldest lines and one takes the detail out of some, each with a line that says so. */
export interface AuditWriter {
  /** Adds a line at the end. */
  append(entry: AuditEntry): Promise<void>
  /**
   * Removes up to `limit` lines from before a time, oldest first, and adds their `retentionEntry` if there are any. Such entries stay.
   * The engine refuses any other removal, also from outside of the driver.
   * @returns how many were removed
   */
  expire(query: AuditExpiry): Promise<number>
  /**
   * Replaces the detail of lines, whose place and everything else stay, and adds their `redactionEntry`. Only so can a line change; the
   * engine refuses any other change, also from outside of the driver.
   * @param lines at most {@link mostRedacted}; each detail is an object whose `redacted_by` is `redacted_by`
   * @param at_ms time of the line that says so; by default the clock of the store's
   * @throws StorageError `invalid` for other details, `not_found` if a line does not exist
   */
  redact(
    lines: readonly { seq: number; detail: Record<string, unknown> }[],
    redacted_by: string,
    at_ms?: number,
  ): Promise<void>
}

/** Method of the line of removed lines: it is never removed or changed itself. */
export const retentionMethod = 'audit.retention'

/**
 * The line of one batch: how many were removed, and up to when.
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

/** Method of the line of redacted lines: it is never changed itself. */
export const redactionMethod = 'audit.redaction'

/** Lines of these methods say what went from the trail: they stay as they are. */
export const markMethods: readonly string[] = [retentionMethod, redactionMethod]

/** Lines that one call may change: the engine looks each of them up in the line that says so. */
export const mostRedacted = 500

/**
 * The line of one call: which lines lost their detail, and the record of the erasure that took it.
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
 * @throws StorageError `invalid` for lines that no driver may change so
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
  if (odd) throw new StorageError('invalid', `the detail of line ${odd.seq} does not say what redacted it`)
}
