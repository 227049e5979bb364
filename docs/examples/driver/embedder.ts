/**
 * An embedder driver written outside the service: hashed trigrams of letters. It imports only the storage SDK.
 * `CSTP_DRIVERS=docs/examples/driver/embedder.ts` makes a service use it.
 */
import { DIMENSIONS, type Drivers, type Embedder, StorageError } from '@cstp/client/storage'

const buckets = 512

/** FNV-1a, mixed at the end because its low bits are poor for short texts. */
function hash(text: string): number {
  let code = 0x811c9dc5
  for (let at = 0; at < text.length; at++) code = Math.imul(code ^ text.charCodeAt(at), 0x01000193)
  code = Math.imul(code ^ (code >>> 15), 0x85ebca6b)
  return (code ^ (code >>> 13)) >>> 0
}

function vectorOf(text: string): Float32Array {
  const sums = new Float64Array(buckets)
  for (const word of text
    .slice(0, 20_000)
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []) {
    const padded = ` ${word} `
    for (let at = 0; at + 3 <= padded.length; at++) {
      const code = hash(padded.slice(at, at + 3))
      const bucket = code % buckets
      sums[bucket] = (sums[bucket] ?? 0) + (code & 0x8000 ? 1 : -1)
    }
  }
  const length = Math.hypot(...sums)
  const vector = new Float32Array(DIMENSIONS)
  // A text without words needs a direction too: the port promises vectors of length 1.
  if (length === 0) vector[0] = 1
  else vector.set(sums.map((sum) => sum / length))
  return vector
}

export async function openTrigramEmbedder(): Promise<Embedder> {
  let closed = false
  return {
    driver: 'trigrams',
    id: `trigrams/${buckets}/1`,
    effective_dimensions: buckets,
    noise_distance: 0.8,
    precedent_distance: 0.75,
    similar_distance: 0.5,
    async embed(texts, _kind, signal) {
      signal.throwIfAborted()
      if (closed) throw new StorageError('unavailable', 'the trigram embedder is closed')
      return texts.map(vectorOf)
    },
    async close() {
      closed = true
    },
  }
}

export default { embedder: openTrigramEmbedder } satisfies Drivers
