/**
 * The RFC 9162 Merkle tree over the records, grown without a look back: a frontier of subtree roots is all that an append needs.
 * Hashes are lowercase hex outside and bytes inside.
 * @see RFC 9162 section 2.1; "compact range" in transparency-dev/merkle
 */
import { hash } from 'node:crypto'
import type { TreeNode } from '../../../sdk/storage/evidence.ts'

/** Only levels divisible by this are kept: a node on disk for each 64 records, and at most 63 hashes to make any other. */
export const keptLevels = 6

const leafPrefix = Buffer.from([0])
const nodePrefix = Buffer.from([1])

/** In one call over one buffer: a third of the time of a hash object that is updated part by part. */
const sha256 = (...parts: Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer')

/** `SHA-256(0x00 || record hash)`. */
export const leafHash = (record_hash: string): Buffer => sha256(leafPrefix, Buffer.from(record_hash, 'hex'))

/** `SHA-256(0x01 || left || right)`. */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(nodePrefix, left, right)

/** The root of the empty tree: SHA-256 of nothing. */
const emptyRoot = sha256().toString('hex')

/** The root of the tree that a frontier covers. */
export function rootOf(frontier: readonly string[]): string {
  const [last, ...rest] = frontier.map((hash) => Buffer.from(hash, 'hex')).reverse()
  if (!last) return emptyRoot
  return rest.reduce<Buffer>((right, left) => nodeHash(left, right), last).toString('hex')
}

/**
 * Grows the tree.
 * @param size records before
 * @param record_hashes of the records after them, in order
 * @returns the frontier after them, and the nodes of kept levels that they complete
 */
export function grow(
  frontier: readonly string[],
  size: number,
  record_hashes: readonly string[],
): { frontier: string[]; nodes: TreeNode[] } {
  const roots: Buffer[] = frontier.map((hash) => Buffer.from(hash, 'hex'))
  const nodes: TreeNode[] = []
  record_hashes.forEach((record_hash, offset) => {
    let hash = leafHash(record_hash)
    let index = size + offset
    for (let level = 0; ; level++, index = (index - 1) / 2) {
      if (level > 0 && level % keptLevels === 0) nodes.push({ level, index, hash: hash.toString('hex') })
      if (index % 2 === 0) break
      hash = nodeHash(roots.pop()!, hash)
    }
    roots.push(hash)
  })
  return { frontier: roots.map((hash) => hash.toString('hex')), nodes }
}
