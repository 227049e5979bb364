/** Vectors of short texts, kept for the next question: what was stated before is not embedded again. */
import type { Embedder } from '../../../sdk/storage/embedder.ts'

export interface Phrases {
  /** Distance up to which two statements say the same. */
  readonly same_distance: number
  /** Vectors of the texts. Those that the embedder did not give before the signal aborted, or refused, are missing. */
  vectors(texts: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Float32Array>>
}

/** About 6 MB of vectors with 384 dimensions. */
const maxKept = 4_000
/** A few at a time: a search that comes meanwhile waits for no more than these. */
const atOnce = 8
/**
 * Of the embedder's noise distance. On pairs of statements that say the same and pairs that do not, with those kept apart that
 * negate each other or differ in one word, a third joins most of the first and none of the second.
 */
const sameShare = 1 / 3

/** Opens an empty cache over the embedder. */
export function openPhrases(embedder: Embedder): Phrases {
  // A Map iterates in order of insertion: the first key is the one unused for longest.
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
        // The caller sees what is missing, and joins texts of the same wording only.
      }
      for (const [text, vector] of found) keep(text, vector)
      return found
    },
  }
}
