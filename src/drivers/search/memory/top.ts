/** Keeps the first `limit` of many items in a given order, without sorting the rest. */

interface Top<T> {
  offer(item: T): void
  /** The item that the next better one replaces; undefined while there is room. */
  last(): T | undefined
  /** The kept items in order. */
  take(): T[]
}

export function top<T>(limit: number, compare: (a: T, b: T) => number): Top<T> {
  // A binary heap; its root is the last of the kept items, which a better item replaces.
  const heap: T[] = []

  function sink(start: number): void {
    const item = heap[start]!
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && compare(heap[child + 1]!, heap[child]!) > 0) child++
      if (compare(heap[child]!, item) <= 0) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = item
  }

  return {
    offer(item) {
      if (heap.length < limit) {
        heap.push(item)
        if (heap.length === limit) for (let at = (limit >> 1) - 1; at >= 0; at--) sink(at)
      } else if (limit > 0 && compare(item, heap[0]!) < 0) {
        heap[0] = item
        sink(0)
      }
    },
    last: () => (heap.length < limit ? undefined : heap[0]),
    take: () => heap.sort(compare),
  }
}
