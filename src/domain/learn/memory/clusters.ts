/** Groups short texts that say the same: first by equal wording, then by similar meaning. */
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { distanceOf } from '../../search/embeddings.ts'

/** The words of a text, without case, punctuation and spacing. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/['’]/g, '')
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

/** Equal for texts that differ only in case, punctuation and spacing. */
export const wordingOf = (text: string): string => wordsOf(text).join(' ') || text.trim()

const negations = new Set(
  'not no never none nothing without avoid dont doesnt didnt cant cannot shouldnt wont isnt'.split(' '),
)
const isNegated = (words: readonly string[]): boolean => words.filter((word) => negations.has(word)).length % 2 === 1

const articles = new Set(['a', 'an', 'the'])

/** Whether two words are the same, apart from an ending of at most two letters, such as a plural. */
function isSameWord(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return short === long || (short.length > 2 && long.length - short.length <= 2 && long.startsWith(short))
}

/**
 * Whether two texts say different things however near their vectors are: one negates the other, or they differ in exactly one word, as
 * in "cache reads" and "cache writes". Embedders place such pairs nearer to each other than paraphrases.
 */
export function saysOtherwise(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => wordsOf(text).filter((word) => !articles.has(word))) as [
    string[],
    string[],
  ]
  if (isNegated(left) !== isNegated(right)) return true
  return (
    left.length > 1 &&
    left.length === right.length &&
    left.filter((word, at) => !isSameWord(word, right[at]!)).length === 1
  )
}

export interface Point {
  text: string
  /** Null if unknown: the point then forms its own cluster. */
  vector: Float32Array | null
  weight: number
}

/**
 * Agglomerative clustering by average linkage: clusters join as long as the mean distance of their members is at most `most`. Takes at
 * least quadratic time, so pass hundreds of points, not thousands.
 * @param apart pairs that never join
 * @returns indexes of the points by cluster
 */
export function cluster(
  points: readonly Point[],
  most: number,
  apart: (a: string, b: string) => boolean = () => false,
): number[][] {
  // Sums of the distances between the members of two clusters; a join adds two rows.
  const sums = points.map(() => new Float64Array(points.length))
  for (const [i, { vector: a, text }] of points.entries())
    for (let j = 0; j < i; j++) {
      const { vector: b, text: other } = points[j]!
      const distance = a === null || b === null || apart(text, other) ? Number.POSITIVE_INFINITY : distanceOf(a, b)
      sums[i]![j] = distance
      sums[j]![i] = distance
    }
  const clusters = new Map(points.map((_, at) => [at, [at]]))
  for (;;) {
    let best: { mean: number; into: number; from: number } | null = null
    for (const [into, members] of clusters)
      for (const [from, others] of clusters) {
        if (from <= into) continue
        const mean = sums[into]![from]! / (members.length * others.length)
        if (mean <= most && (best === null || mean < best.mean)) best = { mean, into, from }
      }
    if (best === null) return [...clusters.values()]
    const { into, from } = best
    clusters.set(into, [...clusters.get(into)!, ...clusters.get(from)!])
    clusters.delete(from)
    for (const other of clusters.keys()) {
      sums[into]![other]! += sums[from]![other]!
      sums[other]![into] = sums[into]![other]!
    }
  }
}

/** Points that suffice to know the distances of unrelated ones. */
const minPoints = 12

/**
 * How far apart points may be that say the same, by their own distances: clearly nearer than a pair of them usually is. In a store whose
 * statements are alike this is little more than `same`, in one of varied statements up to 2.25 times as much; 1.8 times for few points.
 */
export function nearness(points: readonly Point[], same: number): number {
  const known = points.flatMap(({ vector }) => (vector === null ? [] : [vector]))
  if (known.length < minPoints) return 1.8 * same
  let [count, sum, squares] = [0, 0, 0]
  for (const [at, one] of known.entries())
    for (const other of known.slice(0, at)) {
      const distance = distanceOf(one, other)
      count++
      sum += distance
      squares += distance * distance
    }
  const mean = sum / count
  const deviation = Math.sqrt(Math.max(0, squares / count - mean * mean))
  return Math.min(2.25 * same, Math.max(same, mean - 2.5 * deviation))
}

/** The point with the smallest weighted distance to all others of its cluster; the first of several. */
export function central(points: readonly Point[]): Point {
  const cost = (one: Point): number =>
    points.reduce(
      (sum, other) =>
        sum +
        (one === other ? 0 : one.vector && other.vector ? distanceOf(one.vector, other.vector) : 1) * other.weight,
      0,
    )
  const costs = points.map(cost)
  return points[costs.indexOf(Math.min(...costs))]!
}

// Cached vectors of short texts, so that a statement is not embedded again.

export interface Phrases {
  /** Distance up to which two statements say the same. */
  readonly same_distance: number
  /** Vectors of the texts. Those that the embedder refused, or had not finished when the signal aborted, are missing. */
  vectors(texts: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Float32Array>>
}

/** About 6 MB of vectors with 384 dimensions. */
const maxKept = 4_000
/** A few at a time: a concurrent search waits for no more than these. */
const atOnce = 8
/**
 * Share of the embedder's noise distance. Measured on pairs of statements that say the same and pairs that do not: if pairs that negate
 * each other or differ in one word are kept apart, a third joins most of the former and none of the latter.
 */
const sameShare = 1 / 3

/** Opens an empty cache over the embedder. */
export function openPhrases(embedder: Embedder): Phrases {
  // A Map iterates in order of insertion: the first key is the least recently used.
  const kept = new Map<string, Float32Array>()
  /** Texts that are being embedded, for all who ask for them meanwhile. */
  const underWay = new Map<string, Promise<void>>()
  let id = embedder.id
  function keep(text: string, vector: Float32Array): void {
    kept.delete(text)
    kept.set(text, vector)
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!)
  }

  /** Embeds texts, a batch after the other. It goes on when its caller has stopped waiting: otherwise the next one would begin again. */
  function begin(texts: readonly string[]): void {
    let before = Promise.resolve()
    for (let from = 0; from < texts.length; from += atOnce) {
      const batch = texts.slice(from, from + atOnce)
      before = before.then(async () => {
        const by = embedder.id
        const vectors = await embedder.embed(batch, 'document', new AbortController().signal)
        for (const [at, text] of batch.entries())
          if (by === id) keep(text, vectors[at]!.slice(0, embedder.effective_dimensions))
      })
      const end = () => {
        for (const text of batch) underWay.delete(text)
      }
      // After a failure the caller sees which vectors are missing, and joins those texts only by wording.
      const ended = before.then(end, end)
      for (const text of batch) underWay.set(text, ended)
    }
  }

  return {
    same_distance: embedder.noise_distance * sameShare,
    async vectors(texts, signal) {
      if (id !== embedder.id) kept.clear()
      id = embedder.id
      const all = [...new Set(texts)]
      begin(all.filter((text) => !kept.has(text) && !underWay.has(text)))
      const waits = new Set(all.flatMap((text) => underWay.get(text) ?? []))
      if (waits.size > 0 && !signal.aborted) {
        const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
        const stop = () => abort()
        signal.addEventListener('abort', stop)
        await Promise.race([aborted, Promise.all(waits)])
        signal.removeEventListener('abort', stop)
      }
      const found = new Map<string, Float32Array>()
      for (const text of all) {
        const vector = kept.get(text)
        if (vector) found.set(text, vector)
      }
      for (const [text, vector] of found) keep(text, vector)
      return found
    },
  }
}
