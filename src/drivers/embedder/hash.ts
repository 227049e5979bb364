/** The embedder for tests: hashed words and trigrams, so that texts are near exactly when they share spelling. */

import { DIMENSIONS, type Embedder } from '../../../sdk/storage/embedder.ts'
import { closedError } from './shared/queue.ts'

const BUCKETS = 256
/** Cost grows with the length of a text: the rest is ignored. */
const MAX_CHARS = 20_000
const WORD_WEIGHT = 1
/** Used instead of a table of word frequencies: common words are short. */
const SHORT_WORD_WEIGHT = 0.3
const TRIGRAM_WEIGHT = 0.3

export async function openHashEmbedder(): Promise<Embedder> {
  let closed = false
  return {
    driver: 'hash',
    id: 'hash/words-trigrams-256/1',
    effective_dimensions: BUCKETS,
    noise_distance: 0.85,
    precedent_distance: 0.6,
    similar_distance: 0.5,
    in_process: true,
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

const ascii = /^[\0-\x7f]*$/
const space = 32

/** Sums of the text that is being embedded. Shared, because embedding is synchronous. */
const sums = new Float64Array(BUCKETS)

function embed(text: string): Float32Array {
  sums.fill(0)
  const lower = text.slice(0, MAX_CHARS).toLowerCase()
  if (ascii.test(lower)) {
    let from = 0
    for (let at = 0; at <= lower.length; at++) {
      const unit = at === lower.length ? space : lower.charCodeAt(at)
      if ((unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57)) continue
      if (at > from) addWord(lower, from, at)
      from = at + 1
    }
  } else for (const word of lower.match(/[\p{L}\p{N}]+/gu) ?? []) addWord(word, 0, word.length)
  // The square root keeps a repeated word from dominating the others.
  let squares = 0
  for (let i = 0; i < BUCKETS; i++) {
    const sum = sums[i]!
    // True of most buckets of a short text.
    if (sum === 0) continue
    const root = sum < 0 ? -Math.sqrt(-sum) : Math.sqrt(sum)
    sums[i] = root
    squares += root * root
  }
  const length = Math.sqrt(squares)
  const vector = new Float32Array(DIMENSIONS)
  if (squares === 0) vector[0] = 1
  else for (let i = 0; i < BUCKETS; i++) vector[i] = sums[i]! / length
  return vector
}

/** Adds a word and its trigrams, with a space before and after the word. */
function addWord(text: string, from: number, to: number): void {
  let code = seed
  for (let at = from; at < to; at++) code = Math.imul(code ^ text.charCodeAt(at), factor)
  add(mixed(code), to - from < 4 ? SHORT_WORD_WEIGHT : WORD_WEIGHT)
  let first = space
  let second = text.charCodeAt(from)
  for (let at = from + 1; at <= to; at++) {
    const third = at === to ? space : text.charCodeAt(at)
    const three = Math.imul(Math.imul(Math.imul(seed ^ first, factor) ^ second, factor) ^ third, factor)
    add(mixed(three), TRIGRAM_WEIGHT)
    first = second
    second = third
  }
}

/** One bit of the hash gives the sign, so that texts without a common word are at right angles on average. */
function add(code: number, weight: number): void {
  sums[code % BUCKETS]! += code & 0x8000 ? weight : -weight
}

/** FNV-1a over UTF-16 units. */
const seed = 0x811c9dc5
const factor = 0x01000193

/** Mixes the bits of a hash: its low bits are poorly distributed for short strings. */
function mixed(hash: number): number {
  const code = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return (code ^ (code >>> 13)) >>> 0
}
