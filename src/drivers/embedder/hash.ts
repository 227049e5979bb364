/** The embedder for tests: hashed words and trigrams, so that texts are near exactly when they share spelling. */

import { DIMENSIONS, type Embedder } from '../../../sdk/storage/embedder.ts'
import { closedError } from './shared/queue.ts'

const BUCKETS = 256
/** Cost grows with the text; what stands further back is not looked at. */
const MAX_CHARS = 20_000
const WORD_WEIGHT = 1
/** There is no table of how common a word is, and the common ones are short. */
const SHORT_WORD_WEIGHT = 0.3
const TRIGRAM_WEIGHT = 0.3

export async function openHashEmbedder(): Promise<Embedder> {
  let closed = false
  return {
    driver: 'hash',
    id: 'hash/words-trigrams-256/1',
    effective_dimensions: BUCKETS,
    noise_distance: 0.85,
    precedent_distance: 0.85,
    similar_distance: 0.5,
    async embed(texts, _kind, signal) {
      signal.throwIfAborted()
      if (closed) throw closedError('hash')
      return texts.map(embed)
    },
    async close() {
      closed = true
    },
  }
}

function embed(text: string): Float32Array {
  const sums = new Float64Array(BUCKETS)
  for (const word of text
    .slice(0, MAX_CHARS)
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []) {
    add(sums, hash(word, 0, word.length), word.length < 4 ? SHORT_WORD_WEIGHT : WORD_WEIGHT)
    const padded = ` ${word} `
    for (let i = 0; i + 3 <= padded.length; i++) add(sums, hash(padded, i, i + 3), TRIGRAM_WEIGHT)
  }
  // The root keeps a word that is repeated from drowning the others.
  let squares = 0
  for (let i = 0; i < BUCKETS; i++) {
    sums[i] = Math.sign(sums[i]!) * Math.sqrt(Math.abs(sums[i]!))
    squares += sums[i]! ** 2
  }
  const vector = new Float32Array(DIMENSIONS)
  if (squares === 0) vector[0] = 1
  else for (let i = 0; i < BUCKETS; i++) vector[i] = sums[i]! / Math.sqrt(squares)
  return vector
}

/** One bit of the hash gives the sign, so that texts without a common word are at right angles on average. */
function add(sums: Float64Array, code: number, weight: number): void {
  sums[code % BUCKETS]! += code & 0x8000 ? weight : -weight
}

/** FNV-1a over UTF-16 units, with a final mix because its low bits are poor for short strings. */
function hash(text: string, start: number, end: number): number {
  let code = 0x811c9dc5
  for (let i = start; i < end; i++) code = Math.imul(code ^ text.charCodeAt(i), 0x01000193)
  code = Math.imul(code ^ (code >>> 15), 0x85ebca6b)
  return (code ^ (code >>> 13)) >>> 0
}
