/** Picks the k nearest of many scores with a heap whose root is the worst hit kept. */
import type { VectorHit } from '../../../../sdk/storage/vectors.ts'

/** Cosine distance of two unit vectors with this dot product. */
export const toDistance = (dot: number) => Math.min(2, Math.max(0, 1 - dot))

/** The `k` best by distance, then id. `idAt` names the decision at a place, null where there is none. */
export function best(dots: Float32Array, idAt: (place: number) => string | null, k: number): VectorHit[] {
  const heap: VectorHit[] = []
  for (let place = 0; place < dots.length; place++) {
    const distance = toDistance(dots[place]!)
    if (heap.length === k && distance > heap[0]!.distance) continue
    const id = idAt(place)
    if (id === null) continue
    const hit = { id, distance }
    if (heap.length < k) rise(heap, heap.push(hit) - 1)
    else if (isWorse(heap[0]!, hit)) {
      heap[0] = hit
      sink(heap)
    }
  }
  return heap.sort((a, b) => (isWorse(a, b) ? 1 : -1))
}

function isWorse(a: VectorHit, b: VectorHit): boolean {
  return a.distance > b.distance || (a.distance === b.distance && a.id > b.id)
}

function rise(heap: VectorHit[], from: number) {
  let at = from
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isWorse(heap[at]!, heap[parent]!)) return
    swap(heap, at, parent)
    at = parent
  }
}

function sink(heap: VectorHit[]) {
  let at = 0
  while (true) {
    let worst = at
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && isWorse(heap[child]!, heap[worst]!)) worst = child
    }
    if (worst === at) return
    swap(heap, at, worst)
    at = worst
  }
}

function swap(heap: VectorHit[], a: number, b: number) {
  const held = heap[a]!
  heap[a] = heap[b]!
  heap[b] = held
}
