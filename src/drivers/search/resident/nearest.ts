/** Selects the nearest of many dot products, by distance, then id. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { VectorHit } from '../../../../sdk/storage/search.ts'
import { top } from './top.ts'

/** Cosine distance of two unit vectors with this dot product. */
export const distanceOf = (dot: number): number => Math.min(2, Math.max(0, 1 - dot))

export const byDistance = (a: VectorHit, b: VectorHit): number => a.distance - b.distance || compareText(a.id, b.id)

/** @param idAt returns the decision at a place, or null */
export function nearestOf(dots: Float32Array, idAt: (place: number) => string | null, k: number): VectorHit[] {
  const best = top<VectorHit>(k, byDistance)
  let farthest = 2
  for (let place = 0; place < dots.length; place++) {
    const distance = distanceOf(dots[place]!)
    if (distance > farthest) continue
    const id = idAt(place)
    if (id === null) continue
    best.offer({ id, distance })
    farthest = best.last()?.distance ?? 2
  }
  return best.take()
}
