/** RFC 9162's definitions, written literally: slow, recursive, over all leaves. The log's proofs are compared with them. */
import { createHash } from 'node:crypto'

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Distinct record hashes. */
export const recordHashes = (count: number, salt = ''): string[] =>
  Array.from({ length: count }, (_, index) => sha256(Buffer.from(`record ${index}${salt}`)).toString('hex'))

const below = (n: number): number => {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** A tree over record hashes; subtrees are kept, so that all pairs of 300 sizes stay quick. */
export function naiveTree(records: readonly string[]) {
  const kept = new Map<string, Buffer>()
  const mth = (from: number, to: number): Buffer => {
    const key = `${from}-${to}`
    const known = kept.get(key)
    if (known) return known
    const n = to - from
    let root: Buffer
    if (n === 0) root = sha256()
    else if (n === 1) root = sha256(Buffer.from([0]), Buffer.from(records[from]!, 'hex'))
    else root = sha256(Buffer.from([1]), mth(from, from + below(n)), mth(from + below(n), to))
    kept.set(key, root)
    return root
  }
  const path = (m: number, from: number, to: number): Buffer[] => {
    const n = to - from
    if (n === 1) return []
    const k = below(n)
    return m < k ? [...path(m, from, from + k), mth(from + k, to)] : [...path(m - k, from + k, to), mth(from, from + k)]
  }
  const subproof = (m: number, from: number, to: number, whole: boolean): Buffer[] => {
    const n = to - from
    if (m === n) return whole ? [] : [mth(from, to)]
    const k = below(n)
    return m <= k
      ? [...subproof(m, from, from + k, whole), mth(from + k, to)]
      : [...subproof(m - k, from + k, to, false), mth(from, from + k)]
  }
  const hex = (hashes: Buffer[]): string[] => hashes.map((hash) => hash.toString('hex'))
  return {
    root: (size: number): string => mth(0, size).toString('hex'),
    /** Of the records `from … to − 1`. */
    range: (from: number, to: number): string => mth(from, to).toString('hex'),
    leaf: (index: number): string => mth(index, index + 1).toString('hex'),
    inclusion: (index: number, size: number): string[] => hex(path(index, 0, size)),
    consistency: (old_size: number, size: number): string[] =>
      old_size === 0 ? [] : hex(subproof(old_size, 0, size, true)),
  }
}
