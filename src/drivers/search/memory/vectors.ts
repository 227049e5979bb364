/** Cosine distances of unit vectors. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { VectorHit } from '../../../../sdk/storage/search.ts'
import type { VectorSet } from '../../../../sdk/storage/vectors.ts'

/** Order of results: by distance, then id. */
export const byDistance = (a: VectorHit, b: VectorHit): number => a.distance - b.distance || compareText(a.id, b.id)

/** Four sums, because each addition waits for the one before it. */
export function distanceOf(a: Float32Array, b: Float32Array): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  const whole = a.length - (a.length % 4)
  for (let at = 0; at < whole; at += 4) {
    s0 += a[at]! * b[at]!
    s1 += a[at + 1]! * b[at + 1]!
    s2 += a[at + 2]! * b[at + 2]!
    s3 += a[at + 3]! * b[at + 3]!
  }
  for (let at = whole; at < a.length; at++) s0 += a[at]! * b[at]!
  return Math.min(2, Math.max(0, 1 - (s0 + s1 + s2 + s3)))
}

/** A copy in which sides of equal text share one array, as they do for many decisions. */
export function copyOf({ structure, function: purpose, both }: VectorSet): VectorSet {
  const copy = structure.slice()
  const other = isEqual(purpose, structure) ? copy : purpose.slice()
  const third = isEqual(both, structure) ? copy : isEqual(both, purpose) ? other : both.slice()
  return { structure: copy, function: other, both: third }
}

function isEqual(a: Float32Array, b: Float32Array): boolean {
  if (a === b) return true
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}
