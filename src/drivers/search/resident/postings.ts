/** Posting lists packed into typed arrays: which entries contain a term, and how often. */
import { enlarged } from '../../../core/enlarged.ts'

export interface Posting {
  /** `entry << 8 | frequency`, entries ascending; a frequency of 255 is looked up in `frequent`. */
  packed: Uint32Array
  size: number
  frequent: Map<number, number> | null
  /** Number of live entries, valid for this `size` and this number of deaths. */
  documents: number
  counted_size: number
  counted_deaths: number
}

/** Entries are numbered below this. */
export const maxEntries = 1 << 24

export function newPosting(): Posting {
  return { packed: new Uint32Array(2), size: 0, frequent: null, documents: 0, counted_size: -1, counted_deaths: -1 }
}

/** Makes room for `more` entries. */
export function reserve(posting: Posting, more: number): void {
  const needed = posting.size + more
  if (needed > posting.packed.length)
    posting.packed = enlarged(posting.packed, Math.max(needed, Math.ceil(posting.size * 1.6) + 1))
}

/** Entries must come in ascending order. */
export function addPosting(posting: Posting, entry: number, frequency: number): void {
  if (posting.size === posting.packed.length) reserve(posting, 1)
  if (frequency >= 255) {
    posting.frequent ??= new Map()
    posting.frequent.set(entry, frequency)
  }
  posting.packed[posting.size++] = entry * 256 + Math.min(frequency, 255)
}

/** How often the entry contains the term, or 0. */
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

/** The posting list with its entries renumbered; entries for which `numbers` has -1 are removed. Undefined if no entry is left. */
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
