/** The checks of vectors that search and store drivers make before they write anything. */
import { StorageError } from './errors.ts'
import type { SearchEntry, SearchGeneration } from './search.ts'
import type { Generation } from './store.ts'
import { sides, type VectorSet } from './vectors.ts'

/**
 * Refuses a vector of another length, or with a value that is not finite.
 * @throws StorageError `invalid`, naming `what`
 * @example
 * ```ts
 * checkVector(vector, 384, 'The vector of the question')
 * ```
 */
export function checkVector(vector: Float32Array, dimensions: number, what: string): void {
  if (vector.length !== dimensions) {
    throw new StorageError('invalid', `${what} has ${vector.length} values; this index holds vectors of ${dimensions}`)
  }
  let sum = 0
  // 0·x is 0 for every finite x and NaN for all others, which is cheaper than asking for each.
  for (let i = 0; i < dimensions; i++) sum += vector[i]! * 0
  if (sum !== 0) throw new StorageError('invalid', `${what} has a value that is not a finite number`)
}

/**
 * Checks every vector of these entries.
 * @throws StorageError `invalid`, naming the decision and the side
 * @example
 * ```ts
 * checkEntries(entries, generation.dimensions) // before any of them is written
 * ```
 */
export function checkEntries(entries: readonly SearchEntry[], dimensions: number): void {
  for (const { id, value } of entries) {
    if (!value?.vectors) continue
    for (const side of sides) checkVector(value.vectors[side], dimensions, `The ${side} vector of ${id}`)
  }
}

/**
 * Refuses a generation that was made with another embedder or length than the caller's.
 * @throws StorageError `invalid`
 * @example
 * ```ts
 * checkGeneration(held, { embedder: 'mine/1', dimensions: 384 })
 * ```
 */
export function checkGeneration(
  held: SearchGeneration,
  asked: Pick<SearchGeneration, 'embedder' | 'dimensions'>,
): void {
  if (held.embedder === asked.embedder && held.dimensions === asked.dimensions) return
  throw new StorageError(
    'invalid',
    `Generation ${held.number} holds vectors of ${held.embedder} (${held.dimensions}), not of ${asked.embedder} (${asked.dimensions})`,
  )
}

/**
 * Checks that vectors have the length of the generation that stores them.
 * @throws StorageError `invalid`, naming the side
 * @example
 * ```ts
 * checkVectors(made.vectors, generation)
 * ```
 */
export function checkVectors(vectors: VectorSet, { dimensions, number }: Generation): void {
  for (const side of sides) {
    const { length } = vectors[side]
    if (length !== dimensions)
      throw new StorageError('invalid', `vector ${side} has ${length} values, generation ${number} has ${dimensions}`)
  }
}
