/**
 * The RFC 9162 Merkle tree over the records, grown without reading earlier records: an append needs only the frontier of subtree roots.
 * Hashes are lowercase hex outside and bytes inside.
 * @see RFC 9162 section 2.1; "compact range" in transparency-dev/merkle
 */
import type { TreeNode } from '../../../sdk/storage/evidence.ts'
import { sha256Into } from './hash.ts'

/** Only levels divisible by this are stored: one node per 15 records, and at most 15 hashes to compute any other. */
export const keptLevels = 4

function sha256(bytes: Uint8Array): Buffer {
  const hash = Buffer.alloc(32)
  sha256Into(hash, bytes)
  return hash
}

/** The input of a node's hash: its prefix, and room for its two children. */
function emptyNode(): { bytes: Buffer; children: readonly [Buffer, Buffer] } {
  const bytes = Buffer.alloc(65, 1)
  return { bytes, children: [bytes.subarray(1, 33), bytes.subarray(33)] }
}

// Shared buffers: a hash is computed in one go, before anything else can run.
const leafBytes = Buffer.alloc(33, 0)
const single = emptyNode()

/** `SHA-256(0x00 || record hash)`. */
export function leafHash(record_hash: string): Buffer {
  leafBytes.write(record_hash, 1, 'hex')
  return sha256(leafBytes)
}

/** `SHA-256(0x01 || left || right)`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  single.children[0].set(left)
  single.children[1].set(right)
  return sha256(single.bytes)
}

/** The root of the empty tree: SHA-256 of nothing. */
const emptyRoot = sha256(Buffer.alloc(0)).toString('hex')

/** The root of the tree that a frontier covers. */
export function rootOf(frontier: readonly string[]): string {
  const [last, ...rest] = frontier.map((hash) => Buffer.from(hash, 'hex')).reverse()
  if (!last) return emptyRoot
  return rest.reduce<Buffer>((right, left) => nodeHash(left, right), last).toString('hex')
}

/** The tree while it grows, level by level: a root waits as the left child of the node that its sibling will complete. */
const growing = Array.from({ length: 54 }, emptyNode)

/** Levels of the frontier's roots over so many subtrees of a level, the largest first. */
function levelsOf(subtrees: number, level: number): number[] {
  const levels: number[] = []
  for (let left = subtrees, at = level; left > 0; left = Math.floor(left / 2), at++)
    if (left % 2 === 1) levels.unshift(at)
  return levels
}

/**
 * Adds subtrees of one level, joins complete ones, and collects the nodes of stored levels above.
 * @param before subtrees of that level that the frontier covers
 * @param put writes the root of the next one
 */
function growTree(
  frontier: readonly string[],
  level: number,
  before: number,
  count: number,
  put: (target: Buffer, which: number) => void,
): { frontier: string[]; nodes: TreeNode[] } {
  for (const [at, from] of levelsOf(before, level).entries()) growing[from]!.children[0].write(frontier[at]!, 0, 'hex')
  const nodes: TreeNode[] = []
  for (let which = 0; which < count; which++) {
    let [at, index] = [level, before + which]
    let target = growing[at]!.children[index % 2]!
    put(target, which)
    // A right child completes its parent, which is put where it belongs among the nodes above.
    while (index % 2 === 1) {
      const { bytes } = growing[at]!
      at++
      index = (index - 1) / 2
      target = growing[at]!.children[index % 2]!
      sha256Into(target, bytes)
      if (at % keptLevels === 0) nodes.push({ level: at, index, hash: target.toString('hex') })
    }
  }
  const roots = levelsOf(before + count, level).map((from) => growing[from]!.children[0].toString('hex'))
  return { frontier: roots, nodes }
}

/**
 * Grows the tree.
 * @param size records before
 * @param record_hashes of the records after them, in order
 * @returns the frontier after them, and the nodes of kept levels that they complete
 */
export const grow = (
  frontier: readonly string[],
  size: number,
  record_hashes: readonly string[],
): { frontier: string[]; nodes: TreeNode[] } =>
  growTree(frontier, 0, size, record_hashes.length, (target, which) => {
    leafBytes.write(record_hashes[which]!, 1, 'hex')
    sha256Into(target, leafBytes)
  })

/** Grows the tree likewise by records whose hashes are bytes. Written out: one function that is told how to lay a hash made appending a tenth slower. */
export const growByBytes = (
  frontier: readonly string[],
  size: number,
  record_hashes: readonly Uint8Array[],
): { frontier: string[]; nodes: TreeNode[] } =>
  growTree(frontier, 0, size, record_hashes.length, (target, which) => {
    leafBytes.set(record_hashes[which]!, 1)
    sha256Into(target, leafBytes)
  })

/**
 * Grows the tree by a whole perfect subtree.
 * @param index of the subtree among those of its level; all before it are in the frontier
 * @returns the frontier after it, and the nodes of kept levels above it that it completes
 */
export const growBy = (
  frontier: readonly string[],
  level: number,
  index: number,
  root: string,
): { frontier: string[]; nodes: TreeNode[] } =>
  growTree(frontier, level, index, 1, (target) => void target.write(root, 0, 'hex'))
