/** The bodies of requests: how many bytes of them are in memory at once, over all connections, and for how long one may arrive. */
import { plainError, tooLarge } from './route.ts'

/** Who sends a body: an agent, or an address that has shown no credentials. */
export interface Sender {
  name: string
  known: boolean
}

export interface Bodies {
  /** The body, or the answer that refuses it: 413 over the limit, 503 while too many are under way, 408 if it takes too long. */
  read(request: Request, limit: number, sender: () => Sender): Promise<Uint8Array | Response>
  /** Called when the request was answered: its body is not in memory any more. */
  release(request: Request): void
}

/** Shorter ones are not counted: what the number of connections bounds. */
const uncountedBytes = 16_384
/** A body may take this long, and so much longer for each MiB. */
const leastMs = 30_000
const perMebibyteMs = 2_000

const busy = (): Response =>
  plainError(503, 'unavailable', 'Too many bytes of requests are being received: try again', {
    'retry-after': '1',
    connection: 'close',
  })
const tooSlow = (): Response => plainError(408, 'timeout', 'The body took too long to arrive', { connection: 'close' })

interface Lease {
  bytes: number
  sender: Sender
}

/** @param most_bytes most bytes of all bodies; an agent may have half of them, all that showed no credentials a quarter together */
export function createBodies(most_bytes: number): Bodies {
  const leases = new Map<Request, Lease>()
  const held = new Map<string, number>()
  let total = 0
  // An agent's name can't begin with a space.
  const account = ({ name, known }: Sender): string => (known ? name : ' ')
  const shareOf = ({ known }: Sender): number => most_bytes / (known ? 2 : 4)

  /** Whether there is room for so many more bytes of a body, which are then its own. A body that is the only one always has room. */
  function reserve(lease: Lease, bytes: number): boolean {
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

  /** Bytes are reserved as they arrive: who only announces a long body keeps nobody out. */
  async function readCounted(request: Request, limit: number, sender: Sender): Promise<Uint8Array | Response> {
    const lease: Lease = { bytes: 0, sender }
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
      // Number takes what HTTP does not; a value that is not a length is counted like a body without one.
      const length = declared === null ? Number.NaN : Number(declared)
      if (length > limit) return Promise.resolve(tooLarge(limit))
      // Asked for before the body: a look at that alone makes a stream.
      if ((length >= 0 && length <= uncountedBytes) || request.body === null) return request.bytes()
      return readCounted(request, limit, sender())
    },
    release(request) {
      if (leases.size > 0) release(request)
    },
  }
}
