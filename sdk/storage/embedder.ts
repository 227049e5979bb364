/**
 * The embedder port: texts to unit vectors.
 * @see the suite in `conformance/embedder.ts`
 */

/** Length of every vector on the outside. */
export const DIMENSIONS = 768

/** An open embedder. */
export interface Embedder {
  /** Name of the driver, such as `local`. */
  readonly driver: string
  /** Names driver, model and weights: vectors are comparable exactly when their embedders' ids are equal. */
  readonly id: string
  /** Leading dimensions that can differ from 0; the rest is padding. At most {@link DIMENSIONS}. */
  readonly effective_dimensions: number
  /** Cosine distance beyond which two texts of this model have nothing in common. */
  readonly noise_distance: number
  /**
   * Cosine distance of a question to its nearest decision beyond which it has no precedent. Below {@link Embedder.noise_distance}: of many
   * decisions that have nothing to do with a question, the nearest is nearer than any one of them.
   */
  readonly precedent_distance: number
  /** Cosine distance up to which a decision says what a text says in other words: `threshold: auto` of a semantic condition. */
  readonly similar_distance: number
  /** True if texts stay in this process. Then those of a record are embedded while rules judge it, also if they then refuse it. */
  readonly in_process?: true
  /**
   * One vector of {@link DIMENSIONS} values and length 1 for each text, in their order. The same text, kind and id give the same
   * vector whatever else is in the call. An empty text is a text.
   * @throws StorageError `unavailable` if the provider is unreachable, too slow or refuses; `invalid` when it answers another length
   * @throws the signal's reason when it is aborted
   */
  embed(texts: readonly string[], kind: 'document' | 'query', signal: AbortSignal): Promise<Float32Array[]>
  /**
   * Whether a word, in lower case, is in the model's vocabulary: such a word is spelt right. Absent where the model's vocabulary is not
   * known.
   */
  knowsWord?(word: string): Promise<boolean>
  /** Calls under way and later ones throw `unavailable`. Closing twice is fine. */
  close(): Promise<void>
}
