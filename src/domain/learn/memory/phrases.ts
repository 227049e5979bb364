/** Cached vectors of short texts, so that a statement is not embedded again. */
import type { Embedder } from '../../../../sdk/storage/embedder.ts'

export interface Phrases {
  /** Distance up to which two statements say the same. */
  readonly same_distance: number
  /** Vectors of the texts. Those that the embedder refused, or did not finish before the signal aborted, are missing. */
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
  let id = embedder.id
  function keep(text: string, vector: Float32Array): void {
    kept.delete(text)
    kept.set(text, vector)
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!)
  }
  return {
    same_distance: embedder.noise_distance * sameShare,
    async vectors(texts, signal) {
      if (id !== embedder.id) kept.clear()
      id = embedder.id
      const found = new Map<string, Float32Array>()
      for (const text of texts) {
        const vector = kept.get(text)
        if (vector) found.set(text, vector)
      }
      const missing = [...new Set(texts)].filter((text) => !found.has(text))
      try {
        for (let from = 0; from < missing.length; from += atOnce) {
          const batch = missing.slice(from, from + atOnce)
          const vectors = await embedder.embed(batch, 'document', signal)
          for (const [at, text] of batch.entries())
            found.set(text, vectors[at]!.slice(0, embedder.effective_dimensions))
        }
      } catch {
        // The caller sees which vectors are missing, and joins those texts only by wording.
      }
      for (const [text, vector] of found) keep(text, vector)
      return found
    },
  }
}
