/** The queue of decisions that wait for their vectors. */

/** A decision whose vectors are still to be made. At most one entry a decision. */
export interface OutboxEntry {
  id: string
  attempts: number
  /** Changes with every claim; `done` and `retry` of an older claim do nothing. */
  claim: string
}

/** Tells how many decisions wait for their vectors. */
export interface OutboxReader {
  /** How many wait. */
  depth(): Promise<number>
}

/** The queue of decisions that wait for their vectors. */
export interface OutboxWriter {
  /** Adds a decision that has no vectors yet; one that waits already stays as it is. */
  add(id: string, now_ms: number): Promise<void>
  /** Takes up to `limit` due entries for `lease_ms`: until then nobody else gets them. An owner that dies leaves them to others. */
  claim(limit: number, lease_ms: number, now_ms: number): Promise<OutboxEntry[]>
  /** Takes an entry out: its vectors are kept. */
  done(entry: OutboxEntry): Promise<void>
  /** Gives an entry back, due again at `next_ms`. */
  retry(entry: OutboxEntry, next_ms: number, error: string): Promise<void>
}
