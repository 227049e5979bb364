/** Some ranks out of the middle of many items, without sorting those before and behind them. */

/**
 * The items that would be at `from` to `to` (exclusive) if all were sorted.
 * @param compare a total order
 * @param groupOf what the order goes by first, or coarser: items of one group are adjacent
 */
export function ranks<T>(
  items: readonly T[],
  from: number,
  to: number,
  compare: (a: T, b: T) => number,
  groupOf: (item: T) => unknown,
): T[] {
  const groups = [...Map.groupBy(items, groupOf).values()].sort((a, b) => compare(a[0]!, b[0]!))
  const near: T[] = []
  let before = 0
  for (const group of groups) {
    const start = before + near.length
    if (start >= to) break
    if (start + group.length <= from) before += group.length
    else for (const item of group) near.push(item)
  }
  part(near, 0, from - before, compare)
  part(near, from - before, to - before, compare)
  return near.slice(from - before, to - before).sort(compare)
}

/** Reorders the items from `start` on, so that no item before `rank` belongs behind one that follows. */
function part<T>(items: T[], start: number, rank: number, compare: (a: T, b: T) => number): void {
  let [low, high] = [start, items.length - 1]
  if (rank > high) return
  while (low < high) {
    const pivot = middle(items[low]!, items[(low + high) >> 1]!, items[high]!, compare)
    let [left, right] = [low, high]
    while (left <= right) {
      while (compare(items[left]!, pivot) < 0) left++
      while (compare(items[right]!, pivot) > 0) right--
      if (left > right) break
      const moved = items[left]!
      items[left++] = items[right]!
      items[right--] = moved
    }
    if (rank <= right) high = right
    else if (rank >= left) low = left
    else return
  }
}

function middle<T>(a: T, b: T, c: T, compare: (a: T, b: T) => number): T {
  const [less, more] = compare(a, b) < 0 ? [a, b] : [b, a]
  return compare(c, less) < 0 ? less : compare(c, more) > 0 ? more : c
}
