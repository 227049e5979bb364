/**
 * The RFC 9162 Merkle tree over the records, grown without reading earlier records: an append needs only the frontier of subtree roots.
 * Hashes are lowercase hex in parameters and results, and bytes internally.
 * @see RFC 9162 section 2.1; "compact range" in transparency-dev/merkle
 */
import type { TreeNode } from '../../../../sdk/storage/evidence.ts'
import { sha256Into } from './hash.ts'

/** Only levels divisible by this are stored: one node per 15 records, and at most 15 hashes to compute any other. */
export const keptLevels = 4

function sha256(bytes: Uint8Array): Buffer {
  const hash = Buffer.alloc(32)
  sha256Into(hash, bytes)
  return hash
}

/** The input of a node's hash: its prefix, and room for its two children. */
function emptyNode(): { bytes: Buffer; left: Buffer; right: Buffer } {
  const bytes = Buffer.alloc(65, 1)
  return { bytes, left: bytes.subarray(1, 33), right: bytes.subarray(33) }
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
  single.left.set(left)
  single.right.set(right)
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

/** The growing tree, one node per level: a root waits as the left child of the node that its sibling will complete. */
const growing = Array.from({ length: 54 }, emptyNode)

/** Levels of the frontier's roots over this many subtrees of a level, highest first. */
function levelsOf(subtrees: number, level: number): number[] {
  const levels: number[] = []
  for (let left = subtrees, at = level; left > 0; left = Math.floor(left / 2), at++)
    if (left % 2 === 1) levels.unshift(at)
  return levels
}

/** Puts the frontier's roots where their siblings will find them. */
function load(frontier: readonly string[], subtrees: number, level: number): void {
  for (const [at, from] of levelsOf(subtrees, level).entries()) growing[from]!.left.write(frontier[at]!, 0, 'hex')
}

const frontierOf = (subtrees: number, level: number): string[] =>
  levelsOf(subtrees, level).map((from) => growing[from]!.left.toString('hex'))

const place = (level: number, index: number): Buffer => (index % 2 === 1 ? growing[level]!.right : growing[level]!.left)

/** Joins the subtrees that a right child completes, each into its place on the level above, and collects the nodes of stored levels. */
function join(level: number, index: number, nodes: TreeNode[]): void {
  let at = level
  for (let which = index; which % 2 === 1; ) {
    const { bytes } = growing[at]!
    at++
    which = (which - 1) / 2
    const target = place(at, which)
    sha256Into(target, bytes)
    if (at % keptLevels === 0) nodes.push({ level: at, index: which, hash: target.toString('hex') })
  }
}

/** The record hash within the bytes of its leaf. */
const leafRecord = leafBytes.subarray(1)

/**
 * Grows the tree by records whose hashes are computed in, or copied into, their leaves.
 * @param size number of records before
 * @param count number of records to add
 * @param put writes the 32 bytes of the next record's hash
 * @returns the frontier after them, and the nodes of kept levels that they complete
 */
export function growWith(
  frontier: readonly string[],
  size: number,
  count: number,
  put: (record_hash: Buffer, which: number) => void,
): { frontier: string[]; nodes: TreeNode[] } {
  load(frontier, size, 0)
  const nodes: TreeNode[] = []
  for (let which = 0; which < count; which++) {
    put(leafRecord, which)
    sha256Into(place(0, size + which), leafBytes)
    join(0, size + which, nodes)
  }
  return { frontier: frontierOf(size + count, 0), nodes }
}

/** Grows the tree by records whose hashes are given as text. */
export const grow = (
  frontier: readonly string[],
  size: number,
  record_hashes: readonly string[],
): { frontier: string[]; nodes: TreeNode[] } =>
  growWith(frontier, size, record_hashes.length, (target, which) => void target.write(record_hashes[which]!, 0, 'hex'))

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
  load(frontier, index, level)
  const nodes: TreeNode[] = []
  place(level, index).write(root, 0, 'hex')
  join(level, index, nodes)
  return { frontier: frontierOf(index + 1, level), nodes }
}
