/** Unit vectors by slot, and their cosine distances. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { VectorHit } from '../../../../sdk/storage/search.ts'

/** Order of results: by distance, then id. */
export const byDistance = (a: VectorHit, b: VectorHit): number => a.distance - b.distance || compareText(a.id, b.id)

/** Vectors in one array. */
const blockSize = 256

/** Many vectors share an array: comparing vectors that are scattered in memory takes three times as long. */
export function openVectors(dimensions: number) {
  const blocks: Float32Array[] = []
  const startOf = (slot: number): number => (slot % blockSize) * dimensions
  return {
    put(slot: number, vector: Float32Array): void {
      while (blocks.length * blockSize <= slot) blocks.push(new Float32Array(blockSize * dimensions))
      blocks[Math.floor(slot / blockSize)]!.set(vector, startOf(slot))
    },
    /** A view, which changes with the slot. */
    get: (slot: number): Float32Array =>
      blocks[Math.floor(slot / blockSize)]!.subarray(startOf(slot), startOf(slot) + dimensions),
    distance: (vector: Float32Array, slot: number): number =>
      distanceOf(vector, blocks[Math.floor(slot / blockSize)]!, startOf(slot)),
  }
}

/** Four sums, because each addition waits for the one before it. */
function distanceOf(a: Float32Array, block: Float32Array, start: number): number {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  const whole = a.length - (a.length % 4)
  for (let at = 0; at < whole; at += 4) {
    const from = start + at
    s0 += a[at]! * block[from]!
    s1 += a[at + 1]! * block[from + 1]!
    s2 += a[at + 2]! * block[from + 2]!
    s3 += a[at + 3]! * block[from + 3]!
  }
  for (let at = whole; at < a.length; at++) s0 += a[at]! * block[start + at]!
  return Math.min(2, Math.max(0, 1 - (s0 + s1 + s2 + s3)))
}
