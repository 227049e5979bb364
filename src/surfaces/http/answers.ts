/** Limits on answers that are being sent: the bytes in memory for readers that are slow, and the time that one may take to be read. */
import type { Pieces } from '../../calls/page.ts'
import { jsonPieces } from './route.ts'

export interface Answers {
  /** Whether an answer to this agent may be begun: false while half of its share is used up by answers that it has not read. */
  hasRoom(agent: string): boolean
  /** The response, which is sent as fast as it is read; null if its bytes would be too many together with those of other answers. */
  send(pieces: Pieces, agent: string, status: number, retry_after: number): Response | null
}

/** Shorter answers are not counted: the number of connections bounds them. */
const uncountedLength = 65_536
const pieceBytes = 65_536
/** Time that an answer may take to be read, plus this much for each MiB. */
const leastMs = 30_000
const perMebibyteMs = 2_000

const lengthOf = (pieces: Pieces): number =>
  Array.isArray(pieces) ? pieces.reduce((sum: number, { length }: string) => sum + length, 0) : 0

/**
 * @param most_bytes bound on the bytes of all answers; one agent may have half of it
 * @param after calls back after `ms` milliseconds; returns a function that cancels it
 */
export function createAnswers(most_bytes: number, after: (ms: number, run: () => void) => () => void): Answers {
  const held = new Map<string, number>()
  let total = 0

  function reserve(agent: string, bytes: number): (() => void) | null {
    const own = held.get(agent) ?? 0
    // An answer that is the only one always has room.
    if (own > 0 && own + bytes > most_bytes / 2) return null
    if (total > 0 && total + bytes > most_bytes) return null
    held.set(agent, own + bytes)
    total += bytes
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      total -= bytes
      const rest = held.get(agent)! - bytes
      if (rest > 0) held.set(agent, rest)
      else held.delete(agent)
    }
  }

  return {
    hasRoom: (agent) => (held.get(agent) ?? 0) < most_bytes / 4 && total < most_bytes,
    send(pieces, agent, status, retry_after) {
      if (lengthOf(pieces) <= uncountedLength) return jsonPieces(pieces, status, retry_after)
      const texts = pieces as readonly string[]
      const length = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
      const release = reserve(agent, length)
      if (release === null) return null
      // Written piece by piece: joined first, a long answer would be in memory once more.
      const bytes = Buffer.allocUnsafeSlow(length)
      let at = 0
      for (const text of texts) at += bytes.write(text, at)
      return new Response(readAsSent(bytes, release, after), jsonPieces([], status, retry_after))
    },
  }
}

/** Hands out the next piece when the connection has taken the one before. `release` is called when all are taken, or the reader is gone or too slow. */
function readAsSent(
  bytes: Uint8Array,
  release: () => void,
  after: (ms: number, run: () => void) => () => void,
): ReadableStream<Uint8Array> {
  let at = 0
  let cancelTimer = () => {}
  const end = () => {
    cancelTimer()
    release()
  }
  return new ReadableStream(
    {
      start(controller) {
        cancelTimer = after(leastMs + (bytes.length / 1_048_576) * perMebibyteMs, () => {
          release()
          controller.error(new Error('the answer was not read in time'))
        })
      },
      pull(controller) {
        controller.enqueue(bytes.subarray(at, at + pieceBytes))
        at += pieceBytes
        if (at < bytes.length) return
        end()
        controller.close()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}
