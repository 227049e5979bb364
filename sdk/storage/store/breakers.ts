/** Circuit breakers. */

/** State of one circuit breaker. */
export interface Breaker {
  scope: string
  state: 'closed' | 'open' | 'half_open'
  /** Times of the reviews that still count, ascending, milliseconds since 1970. */
  reviews_ms: number[]
  /** Those of them that were failures. */
  failures_ms: number[]
  opened_ms: number | null
  probe_decision_id: string | null
  probe_started_ms: number | null
}

/** Reads circuit breakers. */
export interface BreakerReader {
  /** The breaker of this scope, or null. */
  get(scope: string): Promise<Breaker | null>
  /** By scope. */
  list(): Promise<Breaker[]>
}

/** Writes circuit breakers. */
export interface BreakerWriter extends BreakerReader {
  /** Replaces the state of its scope. */
  put(breaker: Breaker): Promise<void>
}
