/** Token buckets in memory: how many requests an agent, or failed logins an address, may still make. */

export interface RateLimiter {
  /** Takes `cost` tokens of `key`. Returns 0 when they were there, else the seconds until they will be; nothing is taken then. */
  take(key: string, cost: number): number
  /** Seconds until one token is there; 0 when it is. Takes nothing. */
  wait(key: string): number
}

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
      const bucket = bucketOf(key, input.now())
      const wait = secondsFor(cost - bucket.tokens)
      if (wait === 0) bucket.tokens -= cost
      return wait
    },
    wait: (key) => secondsFor(1 - bucketOf(key, input.now()).tokens),
  }
}
