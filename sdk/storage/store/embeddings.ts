/** Vectors kept with the record, generation by generation. */
import type { VectorSet } from '../vectors.ts'

/** One complete set of vectors made by one embedder. */
export interface Generation {
  number: number
  embedder: string
  /** Length of the stored vectors: the embedder's effective dimensions. */
  dimensions: number
  state: 'active' | 'building'
}

/** Tells which vectors there are. */
export interface EmbeddingReader {
  /** The generation that is searched, or null before the first. */
  active(): Promise<Generation | null>
  /** The generation that is being filled, or null. */
  building(): Promise<Generation | null>
}

/** Keeps vectors, generation by generation. */
export interface EmbeddingWriter extends EmbeddingReader {
  /** Opens a generation in state `building`, dropping an unfinished one. The first ever is active at once. */
  start(embedder: string, dimensions: number): Promise<Generation>
  /**
   * Keeps the vectors of a decision in every generation of that embedder.
   * @throws StorageError `invalid` when a vector has another length than the generation, `not_found` without the decision
   */
  put(id: string, embedder: string, vectors: VectorSet): Promise<void>
  /** Drops the vectors of a decision whose text changed, in all generations. */
  drop(id: string): Promise<void>
  /** Makes the building generation the active one and deletes the other. */
  activate(number: number): Promise<void>
}
