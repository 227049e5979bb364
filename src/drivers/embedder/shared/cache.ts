/** The vectors of recent texts: tests of a rule, retries and repeated questions cost nothing. */

export interface Cache {
  /** A copy of the vector of this text, and the text becomes the most recent. */
  get(text: string): Float32Array | undefined
  set(text: string, vector: Float32Array): void
}

export function openCache(size: number): Cache {
  // A Map iterates in order of insertion: the first key is the one unused for longest.
  const vectors = new Map<string, Float32Array>()
  return {
    get(text) {
      const vector = vectors.get(text)
      if (!vector) return
      vectors.delete(text)
      vectors.set(text, vector)
      return vector.slice()
    },
    set(text, vector) {
      vectors.delete(text)
      vectors.set(text, vector.slice())
      if (vectors.size > size) vectors.delete(vectors.keys().next().value!)
    },
  }
}
