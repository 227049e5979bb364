/** The audit trail. */

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
    rule?: string
    allowed?: boolean
    cursor?: number
    limit: number
  }): Promise<StoredAuditEntry[]>
}

/** The trail is append-only: no verb changes or removes a line. */
export interface AuditWriter {
  /** Adds a line at the end. */
  append(entry: AuditEntry): Promise<void>
}
