/** Limits on senders: the bytes of request bodies in memory and the time one may take to arrive, requests a minute, failed logins. */

import type { Log } from '../../core/log.ts'
import { plainError, tooLarge } from './route.ts'

/** Sender of a body: an agent, or an address without credentials. */
export interface Sender {
  name: string
  known: boolean
}

export interface Bodies {
  /** The body, or the response that refuses it: 413 over the limit, 503 if too much is being received, 408 if it takes too long. */
  read(request: Request, limit: number, sender: () => Sender): Promise<Uint8Array | Response>
  /** Called when the request has been answered; releases the bytes of its body. */
  release(request: Request): void
}

/** Shorter bodies are not counted: the number of connections bounds them. */
const uncountedBytes = 16_384
/** Time that a body may take to arrive, plus this much for each MiB of its limit. */
const leastMs = 30_000
const perMebibyteMs = 2_000

const busy = (): Response =>
  plainError(503, 'unavailable', 'Too many bytes of requests are being received: try again', {
    'retry-after': '1',
    connection: 'close',
  })
const tooSlow = (): Response => plainError(408, 'timeout', 'The body took too long to arrive', { connection: 'close' })

interface Reservation {
  bytes: number
  sender: Sender
}

/** @param most_bytes bound on the bytes of all bodies; one agent may have half of it, all senders without credentials together a quarter */
export function createBodies(most_bytes: number): Bodies {
  const leases = new Map<Request, Reservation>()
  const held = new Map<string, number>()
  let total = 0
  // An agent's name can't begin with a space.
  const account = ({ name, known }: Sender): string => (known ? name : ' ')
  const shareOf = ({ known }: Sender): number => most_bytes / (known ? 2 : 4)

  /** Reserves that many more bytes for a body; false if there is no room. A body that is the only one always has room. */
  function reserve(lease: Reservation, bytes: number): boolean {
    const key = account(lease.sender)
    const own = held.get(key) ?? 0
    const fits = (all: number, share: number) => all === lease.bytes || all + bytes <= share
    if (!fits(own, shareOf(lease.sender)) || !fits(total, most_bytes)) return false
    held.set(key, own + bytes)
    lease.bytes += bytes
    total += bytes
    return true
  }

  function release(request: Request): void {
    const lease = leases.get(request)
    if (!lease) return
    leases.delete(request)
    const key = account(lease.sender)
    const rest = held.get(key)! - lease.bytes
    if (rest > 0) held.set(key, rest)
    else held.delete(key)
    total -= lease.bytes
  }

  /** Reserves bytes as they arrive, so merely announcing a long body blocks no other request. */
  async function readCounted(request: Request, limit: number, sender: Sender): Promise<Uint8Array | Response> {
    const lease: Reservation = { bytes: 0, sender }
    leases.set(request, lease)
    const reader = request.body!.getReader()
    let late = false
    const timer = setTimeout(
      () => {
        late = true
        void reader.cancel().catch(() => {})
      },
      leastMs + (limit / 1_048_576) * perMebibyteMs,
    )
    const parts: Uint8Array[] = []
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (late) return tooSlow()
        if (done) return Buffer.concat(parts)
        const refused =
          lease.bytes + value.length > limit ? tooLarge(limit) : reserve(lease, value.length) ? null : busy()
        if (refused) {
          parts.length = 0
          release(request)
          void reader.cancel().catch(() => {})
          return refused
        }
        parts.push(value)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    read(request, limit, sender) {
      const declared = request.headers.get('content-length')
      // Number accepts forms that HTTP doesn't. A value that is not a length is treated like a missing one.
      const length = declared === null ? Number.NaN : Number(declared)
      if (length > limit) return Promise.resolve(tooLarge(limit))
      // The length is tested before `request.body`, since reading that property already creates a stream.
      if ((length >= 0 && length <= uncountedBytes) || request.body === null) return request.bytes()
      return readCounted(request, limit, sender())
    },
    release(request) {
      if (leases.size > 0) release(request)
    },
  }
}

// Token buckets, in memory or leased from a bucket that servers share: limits on an agent's requests and on an address's failed logins.

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

// Wrong credentials: limits them for each address, counts and logs them.

/** Where credentials are presented; a label of the metrics. */
export type GuessedAt = 'cstp' | 'mcp' | 'dashboard' | 'metrics' | 'webhook' | 'other'

export interface Guesses {
  /** Seconds until credentials of this name may be presented again from an address; 0 if they may now. */
  wait(address: string, agent: string | null): number
  /**
   * Counts wrong credentials. Returns the seconds to wait if there were too many of this name from the address, or of all names, else 0.
   * What names nobody counts on its own: any web page can make a browser send requests without credentials, and stops no login by them.
   * @param agent the given name
   */
  failed(surface: GuessedAt, agent: string | null, address: string): number
}

const longestName = 64

/** Of all names together an address may present eight times as many as of one. */
const partOfAll = 1 / 8

/** @param input.limiter failures of a name from an address @param input.observe called for every failure */
export function createGuesses(input: { limiter: RateLimiter; log: Log; observe(surface: GuessedAt): void }): Guesses {
  const { limiter, log, observe } = input
  const keyOf = (address: string, agent: string | null) => `${address} ${agent?.slice(0, longestName) ?? ''}`
  return {
    wait: (address, agent) => Math.max(limiter.wait(keyOf(address, agent)), agent === null ? 0 : limiter.wait(address)),
    failed(surface, agent, address) {
      const ofAll = agent === null ? 0 : limiter.take(address, partOfAll)
      const wait = Math.max(limiter.take(keyOf(address, agent), 1), ofAll)
      observe(surface)
      // Failures beyond the limit are only counted, so that they can't fill the log.
      if (wait === 0)
        log('warn', 'wrong credentials', { surface, agent: agent?.slice(0, longestName) ?? null, address })
      return wait
    },
  }
}
