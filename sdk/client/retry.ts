/** Timeouts and retries of calls. */
import { ClientError, isClientError, isCstpError } from './errors.ts'
import type { CallOptions, RetryOptions } from './options.ts'

/** Maximum delay of a timer, in milliseconds. */
const longest = 2_147_483_647

/** Deadline of a call: the signal that stops it, and the milliseconds left. */
export interface Deadline {
  signal: AbortSignal
  left(): number
}

/** Runs `work` until it ends, the timeout passes, or the caller aborts. @throws ClientError `timeout`, or the signal's reason */
export async function within<T>(options: CallOptions, work: (deadline: Deadline) => Promise<T>): Promise<T> {
  const { signal, timeoutMs = 0 } = options
  signal?.throwIfAborted()
  const stop = new AbortController()
  const abort = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const bounded = timeoutMs > 0 && timeoutMs <= longest
  const end = bounded ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY
  const timer = bounded
    ? setTimeout(() => stop.abort(new ClientError('timeout', `There was no answer within ${timeoutMs} ms`)), timeoutMs)
    : undefined
  try {
    return await work({ signal: stop.signal, left: () => end - performance.now() })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal.addEventListener('abort', end, { once: true })
  })

/** Minimum seconds to wait before the same call makes sense; null if it must not be repeated. */
function againAfter(error: unknown, repeatable: boolean): number | null {
  // Refused before it was processed, so nothing was done, whatever the call is.
  if (isCstpError(error, 'rate_limited') || isCstpError(error, 'overloaded')) return error.data?.retry_after ?? 0
  if (!repeatable) return null
  if (isClientError(error, 'unreachable') || isClientError(error, 'unavailable')) return error.retryAfter ?? 0
  if (isCstpError(error, 'unavailable')) return (error.data.retry_after_ms ?? 0) / 1_000
  // The server says that its own store failed and nothing was changed: the same call may succeed.
  const kind = isCstpError(error) ? error.data?.kind : undefined
  return kind === 'unavailable' || kind === 'conflict' ? 0 : null
}

/**
 * Runs `attempt`, and repeats it after a random wait if that can help and does no harm.
 * @param repeatable whether running it twice is the same as running it once
 */
export async function retrying<T>(
  retry: RetryOptions | false | undefined,
  repeatable: boolean,
  deadline: Deadline,
  attempt: () => Promise<T>,
): Promise<T> {
  const { attempts = 3, baseMs = 200, maxMs = 5_000 } = retry === false ? { attempts: 1 } : (retry ?? {})
  for (let made = 1; ; made++) {
    try {
      return await attempt()
    } catch (error) {
      if (made >= attempts || deadline.signal.aborted) throw error
      const least = againAfter(error, repeatable)
      if (least === null) throw error
      const wait = least * 1_000 + Math.random() * Math.min(maxMs, baseMs * 2 ** (made - 1))
      // The deadline would pass during the wait, so the error is thrown now.
      if (wait >= deadline.left()) throw error
      await pause(wait, deadline.signal)
    }
  }
}
