/** Request bodies: bounds their bytes in memory over all connections, and the time that one may take to arrive. */
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

interface Lease {
  bytes: number
  sender: Sender
}

/** @param most_bytes bound on the bytes of all bodies; one agent may have half of it, all senders without credentials together a quarter */
export function createBodies(most_bytes: number): Bodies {
  const leases = new Map<Request, Lease>()
  const held = new Map<string, number>()
  let total = 0
  // An agent's name can't begin with a space.
  const account = ({ name, known }: Sender): string => (known ? name : ' ')
  const shareOf = ({ known }: Sender): number => most_bytes / (known ? 2 : 4)

  /** Reserves that many more bytes for a body; false if there is no room. A body that is the only one always has room. */
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

  /** Reserves bytes as they arrive, so merely announcing a long body blocks no other request. */
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
