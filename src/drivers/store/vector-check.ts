/** Refuses vectors that do not fit their generation. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Generation } from '../../../sdk/storage/store.ts'
import { sides, type VectorSet } from '../../../sdk/storage/vectors.ts'

/** @throws StorageError `invalid` */
export function checkVectors(vectors: VectorSet, { dimensions, number }: Generation): void {
  for (const side of sides) {
    const { length } = vectors[side]
    if (length !== dimensions)
      throw new StorageError('invalid', `vector ${side} has ${length} values, generation ${number} has ${dimensions}`)
  }
}
