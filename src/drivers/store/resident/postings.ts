/** Posting lists packed into typed arrays: which entries hold a term, and how often. */
import type { Terms } from '../../../../sdk/storage/store.ts'

export interface Posting {
  /** `entry << 8 | frequency`, entries ascending; a frequency of 255 is looked up in `frequent`. */
  packed: Uint32Array
  size: number
  frequent: Map<number, number> | null
  /** Live entries, counted when `size` and the number of deaths were these. */
  documents: number
  counted_size: number
  counted_deaths: number
}

/** Entries are numbered below this. */
export const maxEntries = 1 << 24

export function newPosting(): Posting {
  return { packed: new Uint32Array(2), size: 0, frequent: null, documents: 0, counted_size: -1, counted_deaths: -1 }
}

/** Entries must come in ascending order. */
export function addPosting(posting: Posting, entry: number, frequency: number): void {
  if (posting.size === posting.packed.length)
    posting.packed = enlarged(posting.packed, Math.ceil(posting.size * 1.6) + 1)
  if (frequency >= 255) {
    posting.frequent ??= new Map()
    posting.frequent.set(entry, frequency)
  }
  posting.packed[posting.size++] = entry * 256 + Math.min(frequency, 255)
}

/** How often the entry holds the term; 0 where it does not. */
export function frequencyIn(posting: Posting, entry: number): number {
  const { packed } = posting
  let low = 0
  let high = posting.size
  while (low < high) {
    const middle = (low + high) >> 1
    if (packed[middle]! >>> 8 < entry) low = middle + 1
    else high = middle
  }
  if (low === posting.size || packed[low]! >>> 8 !== entry) return 0
  const frequency = packed[low]! & 255
  return frequency === 255 ? posting.frequent!.get(entry)! : frequency
}

/** The posting with its entries renumbered, or without them where `numbers` says -1; undefined when nothing is left. */
export function renumbered(posting: Posting, numbers: Int32Array): Posting | undefined {
  const next = newPosting()
  for (let at = 0; at < posting.size; at++) {
    const old = posting.packed[at]! >>> 8
    const entry = numbers[old]!
    const frequency = posting.packed[at]! & 255
    if (entry >= 0) addPosting(next, entry, frequency === 255 ? posting.frequent!.get(old)! : frequency)
  }
  return next.size === 0 ? undefined : next
}

/** The postings of texts, text `n` being entry `n`, by term number: ten times faster than adding one text after another. */
export function postingsOf(texts: readonly Uint32Array[]): (Posting | undefined)[] {
  let terms = 0
  for (const pairs of texts) if (pairs.length > 0) terms = Math.max(terms, pairs[pairs.length - 2]! + 1)
  const ends = new Uint32Array(terms + 1)
  for (const pairs of texts) for (let at = 0; at < pairs.length; at += 2) ends[pairs[at]! + 1]!++
  for (let term = 0; term < terms; term++) ends[term + 1]! += ends[term]!
  // All lists share one array; one that grows later moves out of it.
  const all = new Uint32Array(ends[terms]!)
  const next = ends.slice()
  const frequent = new Map<number, Map<number, number>>()
  texts.forEach((pairs, entry) => {
    for (let at = 0; at < pairs.length; at += 2) {
      const term = pairs[at]!
      const frequency = pairs[at + 1]!
      if (frequency >= 255) frequent.set(term, (frequent.get(term) ?? new Map()).set(entry, frequency))
      all[next[term]!++] = entry * 256 + Math.min(frequency, 255)
    }
  })
  return Array.from({ length: terms }, (_, term) => {
    const packed = all.subarray(ends[term]!, ends[term + 1]!)
    if (packed.length === 0) return undefined
    return { ...newPosting(), packed, size: packed.length, frequent: frequent.get(term) ?? null }
  })
}

export function enlarged<T extends Uint8Array | Uint32Array | Int32Array | Float64Array>(array: T, length: number): T {
  const larger = new (array.constructor as new (length: number) => T)(length)
  larger.set(array)
  return larger
}

// Numbers for the words of the corpus, and the packed form in which a text's terms are kept: sorted pairs of number and count.

export interface PackedTerms {
  /** Term number, count, term number, count …; ascending by number. */
  pairs: Uint32Array
  length: number
}

/** Packs terms; `numberOf` gives a word its number, making one where it has none yet. */
export function packTerms(terms: Terms, numberOf: (term: string) => number): PackedTerms {
  const keys = new Float64Array(terms.counts.size)
  let at = 0
  for (const [term, count] of terms.counts) keys[at++] = numberOf(term) * 0x1_0000_0000 + count
  keys.sort()
  const pairs = new Uint32Array(keys.length * 2)
  keys.forEach((key, index) => {
    pairs[2 * index] = Math.floor(key / 0x1_0000_0000)
    pairs[2 * index + 1] = key % 0x1_0000_0000
  })
  return { pairs, length: terms.length }
}

export function equalTerms(a: PackedTerms, b: PackedTerms): boolean {
  return (
    a.length === b.length && a.pairs.length === b.pairs.length && a.pairs.every((value, at) => value === b.pairs[at])
  )
}

// Some ranks out of the middle of many items, without sorting those before and behind them.

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
