/** Sets of a segment's rows, one bit per row: row n is bit `n & 31` of number `n >> 5`. */

export type Bits = Uint32Array

export const noBits = (rows: number): Bits => new Uint32Array((rows + 31) >> 5)

export const holds = (bits: Bits, row: number): boolean => ((bits[row >> 5]! >>> (row & 31)) & 1) === 1

export function put(bits: Bits, row: number): void {
  bits[row >> 5]! |= 1 << (row & 31)
}

/** Adds all rows of another set. */
export function unite(bits: Bits, other: Bits): void {
  for (let at = 0; at < bits.length; at++) bits[at]! |= other[at]!
}

/** Keeps only rows that are also in another set. */
export function intersect(bits: Bits, other: Bits): void {
  for (let at = 0; at < bits.length; at++) bits[at]! &= other[at]!
}

/** Number of rows in the set. */
export function sizeOf(bits: Bits): number {
  let size = 0
  for (let at = 0; at < bits.length; at++) {
    let left = bits[at]!
    left -= (left >>> 1) & 0x55555555
    left = (left & 0x33333333) + ((left >>> 2) & 0x33333333)
    size += Math.imul((left + (left >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return size
}

/** The rows of the set in order. */
export function rowsOf(bits: Bits): Int32Array {
  const rows = new Int32Array(sizeOf(bits))
  let count = 0
  for (let word = 0; word < bits.length; word++)
    for (let left = bits[word]!; left !== 0; left &= left - 1)
      rows[count++] = (word << 5) + 31 - Math.clz32(left & -left)
  return rows
}

/** Keeps the most recently used named sets, up to a number of bytes. */
export function keepSets<T>(rows: number, bytes: number) {
  const most = Math.ceil(bytes / noBits(rows).byteLength)
  const kept = new Map<string, T>()
  function known(name: string): T | null {
    const set = kept.get(name) ?? null
    if (set === null) return null
    kept.delete(name)
    kept.set(name, set)
    return set
  }
  function keep(name: string, set: T): T {
    kept.set(name, set)
    if (kept.size > most) kept.delete(kept.keys().next().value!)
    return set
  }
  return { known, keep, forget: (name: string) => kept.delete(name) }
}
