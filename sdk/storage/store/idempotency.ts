/** What calls with an idempotency key answered. */

/** What a call with an idempotency key answered. */
export interface IdempotentResult {
  /** SHA-256 of the canonical parameters, lowercase hex. */
  digest: string
  /** The result as JSON. */
  result: unknown
}

/** Results by agent and key. */
export interface Idempotency {
  /** What this agent's key stands for, or null; expired keys are absent. */
  get(agent: string, key: string, now_ms: number): Promise<IdempotentResult | null>
  /** Keeps a result until the key expires. */
  put(agent: string, key: string, value: IdempotentResult, expires_ms: number): Promise<void>
}
