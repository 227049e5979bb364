/**
 * The embedder port: texts to unit vectors.
 * @see the suite in `conformance/embedder.ts`
 */

/** Length of every vector that an embedder returns. */
export const DIMENSIONS = 768

/** An open embedder. */
export interface Embedder {
  /** Name of the driver, such as `local`. */
  readonly driver: string
  /** Identifies driver, model and weights: vectors are comparable if and only if the ids of their embedders are equal. */
  readonly id: string
  /** Number of leading dimensions that can differ from 0; the rest is padding. At most {@link DIMENSIONS}. */
  readonly effective_dimensions: number
  /** Cosine distance above which two texts of this model are unrelated. */
  readonly noise_distance: number
  /**
   * Cosine distance of a question to its nearest decision above which the question has no precedent. Lower than {@link
   * Embedder.noise_distance}: of many unrelated decisions, the nearest is closer to the question than a random one.
   */
  readonly precedent_distance: number
  /** Cosine distance up to which two texts say the same in other words: `threshold: auto` of a semantic condition. */
  readonly similar_distance: number
  /**
   * True if texts stay in this process. A record's texts are then embedded while its guardrails are evaluated, even if these go on to
   * refuse it.
   */
  readonly in_process?: true
  /**
   * Returns one vector of {@link DIMENSIONS} values and length 1 for each text, in order. The same text, kind and id give the same vector,
   * whatever the other texts of the call. An empty text is valid.
   * @throws StorageError `unavailable` if the provider is unreachable, too slow or refuses; `invalid` if it returns vectors of another
   * length
   * @throws the signal's reason if it is aborted
   */
  embed(texts: readonly string[], kind: 'document' | 'query', signal: AbortSignal): Promise<Float32Array[]>
  /**
   * Whether a lower-case word is in the model's vocabulary and so is spelled correctly. Absent if the vocabulary is unknown.
   */
  knowsWord?(word: string): Promise<boolean>
  /** Pending and later calls throw `unavailable`. Closing twice is fine. */
  close(): Promise<void>
}
