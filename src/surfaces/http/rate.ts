/** Token buckets, in memory or leased from one that servers share: how many requests an agent, or failed logins an address, may still make. */

/** Seconds to wait, 0 to go on, Infinity for more than the limit ever allows; if servers share the limit they may have to be asked. */
export interface Limiter {
  take(key: string, cost: number): number | Promise<number>
}

export interface RateLimiter extends Limiter {
  /**
   * Takes `cost` tokens of `key`. Returns 0 if they were there, else the seconds until they will be, Infinity if a full bucket has fewer;
   * nothing is taken then.
   */
  take(key: string, cost: number): number
  /** Seconds until one token is there; 0 when it is. Takes nothing. */
  wait(key: string): number
}

/** What is said to a caller that has to wait. @param wait Infinity if waiting does not help */
export const waiting = (wait: number, why = 'Rate limited'): string =>
  Number.isFinite(wait) ? `${why}: try again in ${wait} s` : `${why}: a batch of so many entries is over the limit`

const sweepAbove = 10_000

/**
 * @param input.per_minute tokens that come back in a minute; 0 for no limit
 * @param input.burst most tokens that a bucket holds
 */
export function createRateLimiter(input: { per_minute: number; burst: number; now(): number }): RateLimiter {
  if (input.per_minute === 0) return { take: () => 0, wait: () => 0 }
  const perMs = input.per_minute / 60_000
  const buckets = new Map<string, { tokens: number; at: number }>()
  let sweepAt = sweepAbove

  const bucketOf = (key: string, now: number) => {
    let bucket = buckets.get(key)
    if (!bucket) {
      // Full buckets say nothing that a new one would not: drop them before the map grows without bound.
      if (buckets.size >= sweepAt) {
        for (const [other, { tokens, at }] of buckets)
          if (tokens + (now - at) * perMs >= input.burst) buckets.delete(other)
        // Where most stay, the next sweep waits until there are twice as many: the work for each request stays small.
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

/** Takes up to so many tokens from a bucket that servers share; resolves with how many there were. */
export type Lease = (key: string, tokens: number, bucket: { per_minute: number; burst: number }) => Promise<number>

/** Tokens that are leased at once: one question to the database for so many requests. */
const block = 50
/** How long a caller is let through unasked after the database gave no answer; its calls fail by themselves then. */
const blind_ms = 1_000

interface Leased {
  tokens: number
  /** Until then nobody asks again, and why: there were none, or there was no answer. */
  until: number
  blind: boolean
  lane: Promise<unknown>
}

/**
 * A limiter whose buckets servers share: it leases tokens in blocks and spends them itself.
 * @param input.per_minute tokens that come back in a minute; 0 for no limit
 * @param input.burst most tokens that a bucket holds
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
      // A caller that can't be counted is not refused: that would make every server's limit fall with the database.
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
      // Those who come meanwhile wait for the same answer.
      const next = own.lane.then(() => ask(key, own, cost))
      own.lane = next
      return next
    },
  }
}
