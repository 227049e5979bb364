/** Deliberation sessions: what agents gather for their next decisions. */

/** Something that an agent asked, checked or thought. */
export interface SessionInput {
  id: string
  type: string
  text: string
  source: string
  /** RFC 3339, UTC. */
  timestamp: string
  /** Free-form JSON of the call that left it, such as the best hits of a query. */
  data: unknown
}

/** What an agent has gathered for its next decision. */
export interface Session {
  key: string
  agent: string
  inputs: SessionInput[]
  /** Inputs that were dropped, oldest first, because the session was full. */
  dropped: number
  created_ms: number
  updated_ms: number
}

/** A session that ended in a decision. */
export interface ConsumedSession {
  key: string
  agent: string
  decision_id: string
  input_count: number
  consumed_ms: number
}

/** Reads sessions. */
export interface SessionReader {
  /** The session of this key, or null. */
  get(key: string): Promise<Session | null>
  /** Sessions touched at or after `since_ms`, newest first; of one agent where named. */
  list(query: { agent?: string; since_ms: number; limit: number }): Promise<Session[]>
  /** The last consumed sessions, newest first. */
  consumed(query: { agent?: string; limit: number }): Promise<ConsumedSession[]>
}

/** Adds to sessions, and ends them. */
export interface SessionWriter {
  /** The session of this key as the transaction sees it, or null. */
  get(key: string): Promise<Session | null>
  /** Adds inputs, starting the session where there is none; keeps the newest `keep` and counts the rest as dropped. */
  append(key: string, agent: string, inputs: readonly SessionInput[], keep: number, now_ms: number): Promise<void>
  /** Ends the session and returns what it held, or null. Exactly one transaction gets it. */
  consume(key: string, decision_id: string, now_ms: number): Promise<Session | null>
  /** Ends sessions not touched since `before_ms`; returns how many. */
  expire(before_ms: number): Promise<number>
}
