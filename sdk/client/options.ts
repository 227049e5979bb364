/** The options of a client and of each of its calls. */

/** Effect of a call: none, a write that an `idempotency_key` makes safe to repeat, or any other write. */
export type Effect = 'read' | 'keyed' | 'write'

/** When a failed call is repeated. */
export interface RetryOptions {
  /** Attempts in total, including the first. Default 3. */
  attempts?: number | undefined
  /** Maximum wait before the second attempt, in milliseconds; doubles with each further one. The actual wait is random below it. Default 200. */
  baseMs?: number | undefined
  /** Upper bound of the doubling. A longer `Retry-After` of the server is still honoured. Default 5000. */
  maxMs?: number | undefined
}

/** Options of `createClient`. */
export interface ClientOptions {
  /** Address of the service, such as `http://127.0.0.1:9991`; a path before `/cstp` is kept. */
  url: string
  /** Name that the token belongs to; it is recorded with everything that is written. */
  agent: string
  /** The agent's token. It is sent to `url` only, redirects are not followed, and no error contains it. */
  token: string
  /** Used in place of the global `fetch`. It must honour `signal`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Milliseconds that a call may take, including all attempts and waits; 0 for no limit. Default 30000. */
  timeoutMs?: number | undefined
  /** `false` disables retries. */
  retry?: RetryOptions | false | undefined
}

/** Options of a single call. */
export interface CallOptions {
  /** Aborting it ends the call with the signal's reason. The server may still do the work. */
  signal?: AbortSignal | undefined
  /** Replaces the client's `timeoutMs` for this call. */
  timeoutMs?: number | undefined
}
