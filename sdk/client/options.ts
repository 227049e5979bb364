/** The options of a client and of each of its calls. */

/** What a call leaves behind: nothing, a write that an `idempotency_key` makes safe to repeat, or any other write. */
export type Effect = 'read' | 'keyed' | 'write'

/** When a call that failed is made again. */
export interface RetryOptions {
  /** Attempts in all, the first one too. Default 3. */
  attempts?: number | undefined
  /** Longest wait before the second attempt, in milliseconds; doubles with each further one. The wait itself is random below it. Default 200. */
  baseMs?: number | undefined
  /** Where the doubling ends. A `Retry-After` of the server is honoured beyond it. Default 5000. */
  maxMs?: number | undefined
}

/** What `createClient` takes. */
export interface ClientOptions {
  /** Address of the service, such as `http://127.0.0.1:9991`; a path before `/cstp` is kept. */
  url: string
  /** Name that the token belongs to; it is recorded with everything that is written. */
  agent: string
  /** The agent's token. It is sent to `url` alone, redirects are not followed, and no error repeats it. */
  token: string
  /** Used in place of the global `fetch`. It must honour `signal`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Milliseconds that a call may take, attempts and waits together; 0 for any. Default 30000. */
  timeoutMs?: number | undefined
  /** False: no call is made again. */
  retry?: RetryOptions | false | undefined
}

/** What a single call takes beside its parameters. */
export interface CallOptions {
  /** Aborting it ends the call with the signal's reason. The server may have done the work all the same. */
  signal?: AbortSignal | undefined
  /** In place of the client's `timeoutMs`, for this call. */
  timeoutMs?: number | undefined
}
