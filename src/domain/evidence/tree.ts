/**
 * The RFC 9162 Merkle tree over the records, grown without a look back: a frontier of subtree roots is all that an append needs.
 * Hashes are lowercase hex outside and bytes inside.
 * @see RFC 9162 section 2.1; "compact range" in transparency-dev/merkle
 */
import { hash } from 'node:crypto'
import type { TreeNode } from '../../../sdk/storage/evidence.ts'

/** Only levels divisible by this are kept: a node on disk for each 64 records, and at most 63 hashes to make any other. */
export const keptLevels = 6

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')

// What is hashed is put together here: a hash is made in one go, before anything else can run.
const leafBytes = Buffer.alloc(33, 0)
const nodeBytes = Buffer.alloc(65, 1)

/** `SHA-256(0x00 || record hash)`. */
export function leafHash(record_hash: string): Buffer {
  leafBytes.write(record_hash, 1, 'hex')
  return sha256(leafBytes)
}

/** `SHA-256(0x01 || left || right)`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  nodeBytes.set(left, 1)
  nodeBytes.set(right, 33)
  return sha256(nodeBytes)
}

/** The root of the empty tree: SHA-256 of nothing. */
const emptyRoot = sha256(Buffer.alloc(0)).toString('hex')

/** The root of the tree that a frontier covers. */
export function rootOf(frontier: readonly string[]): string {
  const [last, ...rest] = frontier.map((hash) => Buffer.from(hash, 'hex')).reverse()
  if (!last) return emptyRoot
  return rest.reduce<Buffer>((right, left) => nodeHash(left, right), last).toString('hex')
}

/** Adds a subtree to the roots of those before it, joins what is whole, and notes the nodes of kept levels above it. */
function climb(roots: Buffer[], nodes: TreeNode[], from_level: number, from_index: number, root: Buffer): void {
  let hash = root
  for (let level = from_level, index = from_index; ; level++, index = (index - 1) / 2) {
    if (level > from_level && level % keptLevels === 0) nodes.push({ level, index, hash: hash.toString('hex') })
    if (index % 2 === 0) break
    hash = nodeHash(roots.pop()!, hash)
  }
  roots.push(hash)
}

const bytesOf = (frontier: readonly string[]): Buffer[] => frontier.map((hash) => Buffer.from(hash, 'hex'))
const hexOf = (roots: readonly Buffer[]): string[] => roots.map((hash) => hash.toString('hex'))

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
  const roots = bytesOf(frontier)
  const nodes: TreeNode[] = []
  let index = size
  for (const hash of record_hashes) climb(roots, nodes, 0, index++, leafHash(hash))
  return { frontier: hexOf(roots), nodes }
}

/**
 * Grows the tree by a whole perfect subtree.
 * @param index of the subtree among those of its level; all before it are in the frontier
 * @returns the frontier after it, and the nodes of kept levels above it that it completes
 */
export function growBy(
  frontier: readonly string[],
  level: number,
  index: number,
  root: string,
): { frontier: string[]; nodes: TreeNode[] } {
  const roots = bytesOf(frontier)
  const nodes: TreeNode[] = []
  climb(roots, nodes, level, index, Buffer.from(root, 'hex'))
  return { frontier: hexOf(roots), nodes }
}
