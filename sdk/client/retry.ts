/** How long a call may take, and when it is made again. */
import { ClientError, isClientError, isCstpError } from './errors.ts'
import type { CallOptions, RetryOptions } from './options.ts'

/** Timers take no longer time. */
const longest = 2_147_483_647

/** A call's clock: what stops it, and the milliseconds that are left. */
export interface Deadline {
  signal: AbortSignal
  left(): number
}

/** Runs `work` until it ends, its time is over, or the caller aborts. @throws ClientError `timeout`, or the signal's reason */
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

/** Seconds to wait at least before the same call makes sense; null where it must not be made again. */
function againAfter(error: unknown, repeatable: boolean): number | null {
  // Refused before it was looked at: whatever it is, nothing was done.
  if (isCstpError(error, 'rate_limited')) return error.data?.retry_after ?? 0
  if (!repeatable) return null
  if (isClientError(error, 'unreachable') || isClientError(error, 'unavailable')) return error.retryAfter ?? 0
  // What the server says about its own stores: nothing was changed, the same call may go through.
  const kind = isCstpError(error) ? error.data?.kind : undefined
  return kind === 'unavailable' || kind === 'conflict' ? 0 : null
}

/**
 * Makes `attempt`, and makes it again after a random wait where that can help and do no harm.
 * @param repeatable whether doing it twice is the same as doing it once
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
      // Better to say now what is wrong than to wait for nothing.
      if (wait >= deadline.left()) throw error
      await pause(wait, deadline.signal)
    }
  }
}
