/** Erasure in a transaction: what is removed for good, and what stays as proof that it was there. */
import type { AuditExpiry } from './audit.ts'

/** Audit entries that lose their detail. */
export interface AuditRedaction {
  /** At most {@link mostRedacted}; each new detail is an object whose `redacted_by` equals the one below. */
  lines: readonly { seq: number; detail: Record<string, unknown> }[]
  /** Id of the record of the erasure that caused it. */
  redacted_by: string
  /** Time of the entry that records the redaction. [the clock of the store] */
  at_ms?: number
}

/** What one call erases. */
export interface Erasure {
  /**
   * Decisions: document, terms, vectors, the edges from them, their outbox entries, and their files if the driver keeps any. The feed reports
   * them as gone. The driver may keep only the id; edges from other decisions to it stay. `revision` is as read; null for any, and also for a
   * decision that is hidden because its file was removed.
   */
  decisions?: readonly { id: string; revision: number | null }[]
  /** Acts by `record_id`: payload and salt; their commitments stay. Unknown ones are ignored. */
  acts?: readonly string[]
  /**
   * Replaces the detail of audit entries, leaves their position and everything else as it is, and adds a `redactionEntry`. The engine refuses
   * any other change to an entry, even one that bypasses the driver.
   */
  audit?: AuditRedaction
  /**
   * Removes audit entries from before a time, oldest first, and adds a `retentionEntry` if any were removed. Such entries are kept. The engine
   * refuses any other removal, even one that bypasses the driver.
   */
  expired?: AuditExpiry
}

/** How a driver erases each kind of data. */
export interface Erasers {
  /** Erases one decision; see {@link Erasure.decisions}. */
  decision(id: string, revision: number | null): Promise<void>
  /** Erases payload and salt of acts; see {@link Erasure.acts}. */
  acts(record_ids: readonly string[]): Promise<void>
  /** Replaces the detail of audit entries; see {@link Erasure.audit}. */
  audit(redaction: AuditRedaction): Promise<void>
  /** Removes the oldest audit entries, and returns their number; see {@link Erasure.expired}. */
  expired(expiry: AuditExpiry): Promise<number>
}

/**
 * The `erase` of a transaction, made of what erases each kind of data.
 * @example
 * ```ts
 * const erase = eraserOf({ decision: decisions.erase, acts: acts.erase, audit: trail.redact, expired: trail.expire })
 * ```
 */
export const eraserOf =
  (erasers: Erasers) =>
  async ({ decisions = [], acts = [], audit, expired }: Erasure): Promise<number> => {
    for (const { id, revision } of decisions) await erasers.decision(id, revision)
    if (acts.length > 0) await erasers.acts(acts)
    if (audit) await erasers.audit(audit)
    return expired ? erasers.expired(expired) : 0
  }
