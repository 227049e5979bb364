/** Token buckets, in memory or leased from a bucket that servers share: limits on an agent's requests and on an address's failed logins. */

/** `take` returns the seconds to wait: 0 to proceed, Infinity if waiting never helps. A shared limit may have to ask the database. */
export interface Limiter {
  take(key: string, cost: number): number | Promise<number>
}

export interface RateLimiter extends Limiter {
  /**
   * Takes `cost` tokens of `key` and returns 0 if there are enough. Otherwise takes nothing and returns the seconds until there are, or
   * Infinity if a full bucket has fewer.
   */
  take(key: string, cost: number): number
  /** Seconds until a token is available, 0 if one is. Takes nothing. */
  wait(key: string): number
}

/** The message for a caller that has to wait. @param wait seconds; Infinity if waiting does not help */
export const waiting = (wait: number, why = 'Rate limited'): string =>
  Number.isFinite(wait) ? `${why}: try again in ${wait} s` : `${why}: a batch of so many entries is over the limit`

const sweepAbove = 10_000

/**
 * @param input.per_minute tokens added per minute; 0 for no limit
 * @param input.burst capacity of a bucket, in tokens
 */
export function createRateLimiter(input: { per_minute: number; burst: number; now(): number }): RateLimiter {
  if (input.per_minute === 0) return { take: () => 0, wait: () => 0 }
  const perMs = input.per_minute / 60_000
  const buckets = new Map<string, { tokens: number; at: number }>()
  let sweepAt = sweepAbove

  const bucketOf = (key: string, now: number) => {
    let bucket = buckets.get(key)
    if (!bucket) {
      // A full bucket equals a new one: such buckets are dropped before the map grows without bound.
      if (buckets.size >= sweepAt) {
        for (const [other, { tokens, at }] of buckets)
          if (tokens + (now - at) * perMs >= input.burst) buckets.delete(other)
        // If most stay, the next sweep waits until their number has doubled, so the work for each request stays small.
        sweepAt = Math.max(sweepAbove, 2 * buckets.size)
      }
      bucket = { tokens: input.burst, at: now }
      buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(input.burst, bucket.tokens + Math.max(0, now - bucket.at) * perMs)
    bucket.at = now
    return bucket
  }
  const secondsFor = (missing: number) => (missing <= 0 ? 0 : Math.max(1, Math.ceil(missing / perMs / 1_000)))

  return {
    take(key, cost) {
      if (cost > input.burst) return Number.POSITIVE_INFINITY
      const bucket = bucketOf(key, input.now())
      const wait = secondsFor(cost - bucket.tokens)
      if (wait === 0) bucket.tokens -= cost
      return wait
    },
    wait: (key) => secondsFor(1 - bucketOf(key, input.now()).tokens),
  }
}

/** Takes up to `tokens` tokens from a bucket that servers share; resolves with the number taken. */
export type Lease = (key: string, tokens: number, bucket: { per_minute: number; burst: number }) => Promise<number>

/** Tokens leased at once, so that the database is asked once for this many requests. */
const block = 50
/** How long a caller is admitted unchecked after the database failed to answer; its calls then fail by themselves. */
const blind_ms = 1_000

interface Leased {
  tokens: number
  /** No lease is requested until then, because there were no tokens or, if `blind`, no answer. */
  until: number
  blind: boolean
  lane: Promise<unknown>
}

/**
 * A limiter whose buckets are shared by servers: it leases tokens in blocks and spends them locally.
 * @param input.per_minute tokens added per minute; 0 for no limit
 * @param input.burst capacity of a bucket, in tokens
 */
export function createSharedLimiter(input: {
  per_minute: number
  burst: number
  now(): number
  lease: Lease
}): Limiter {
  const { per_minute, burst, now, lease } = input
  if (per_minute === 0) return { take: () => 0 }
  const held = new Map<string, Leased>()

  function spend(own: Leased, cost: number): number | null {
    if (own.tokens >= cost) {
      own.tokens -= cost
      return 0
    }
    const left = own.until - now()
    if (left <= 0) return null
    return own.blind ? 0 : Math.ceil(left / 1_000)
  }

  async function ask(key: string, own: Leased, cost: number): Promise<number> {
    const spent = spend(own, cost)
    if (spent !== null) return spent
    try {
      own.tokens += await lease(key, Math.max(block, cost - own.tokens), { per_minute, burst })
      own.blind = false
      if (own.tokens < cost) own.until = now() + Math.max(1_000, ((cost - own.tokens) * 60_000) / per_minute)
    } catch {
      // A caller that can't be counted is not refused: otherwise every server would fail with the database.
      own.blind = true
      own.until = now() + blind_ms
    }
    return spend(own, cost) ?? 1
  }

  return {
    take(key, cost) {
      if (cost > burst) return Number.POSITIVE_INFINITY
      const own = held.get(key) ?? { tokens: 0, until: 0, blind: false, lane: Promise.resolve() }
      held.set(key, own)
      const spent = spend(own, cost)
      if (spent !== null) return spent
      // Calls for the same key that arrive meanwhile wait for this lease.
      const next = own.lane.then(() => ask(key, own, cost))
      own.lane = next
      return next
    },
  }
}
