/**
 * Checks inclusion and consistency proofs as an outsider does, from hashes only.
 * @see RFC 9162 sections 2.1.3.2 and 2.1.4.2, whose names and steps these functions follow
 */
import { nodeHash, rootOf } from './tree.ts'

const isHash = (text: unknown): text is string => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)
const isSize = (size: number): boolean => Number.isSafeInteger(size) && size >= 0
const odd = (number: number): boolean => number % 2 === 1
/** A right shift; the language's operator is limited to 32 bits. */
const half = (number: number): number => Math.floor(number / 2)

/** Bytes of hashes; null unless each is 64 lower-case hexadecimal digits. */
const bytesOf = (hashes: readonly string[]): Buffer[] | null =>
  hashes.every(isHash) ? hashes.map((hash) => Buffer.from(hash, 'hex')) : null

/**
 * Whether the record with this leaf hash is number `index` (from 0) of the tree with this size and root. Hashes are lowercase hex.
 */
export function verifyInclusion(given: {
  index: number
  size: number
  leaf_hash: string
  root_hash: string
  hashes: readonly string[]
}): boolean {
  const { index, size } = given
  const path = bytesOf(given.hashes)
  if (!isSize(size) || !isSize(index) || index >= size || path === null || !isHash(given.leaf_hash)) return false
  let fn = index
  let sn = size - 1
  let r: Buffer = Buffer.from(given.leaf_hash, 'hex')
  for (const p of path) {
    if (sn === 0) return false
    if (odd(fn) || fn === sn) {
      r = nodeHash(p, r)
      while (!odd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else r = nodeHash(r, p)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && r.toString('hex') === given.root_hash
}

/**
 * Whether the tree of `new_size` begins with all records of the tree of `old_size`, in their order. Hashes are lowercase hex. The empty
 * tree is the beginning of every tree, and every tree is the beginning of itself; neither case needs a hash.
 */
export function verifyConsistency(given: {
  old_size: number
  old_root: string
  new_size: number
  new_root: string
  hashes: readonly string[]
}): boolean {
  const { old_size: first, new_size: second, old_root, new_root } = given
  const path = bytesOf(given.hashes)
  if (!isSize(first) || !isSize(second) || first > second || path === null) return false
  if (!isHash(old_root) || !isHash(new_root)) return false
  if (first === 0 && old_root !== rootOf([])) return false
  if (second === 0 && new_root !== rootOf([])) return false
  if (first === second) return path.length === 0 && old_root === new_root
  if (first === 0) return path.length === 0
  if (path.length === 0) return false
  let power = 1
  while (power < first) power *= 2
  const [start, ...rest] = power === first ? [Buffer.from(old_root, 'hex'), ...path] : path
  let fn = first - 1
  let sn = second - 1
  while (odd(fn)) [fn, sn] = [half(fn), half(sn)]
  let fr: Buffer = start!
  let sr: Buffer = start!
  for (const c of rest) {
    if (sn === 0) return false
    if (odd(fn) || fn === sn) {
      fr = nodeHash(c, fr)
      sr = nodeHash(c, sr)
      while (!odd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)]
    } else sr = nodeHash(sr, c)
    ;[fn, sn] = [half(fn), half(sn)]
  }
  return sn === 0 && fr.toString('hex') === old_root && sr.toString('hex') === new_root
}
