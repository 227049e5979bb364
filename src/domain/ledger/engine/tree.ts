/**
 * The RFC 9162 Merkle tree over the entries of a log, grown without reading earlier entries: an append needs only the frontier of subtree
 * roots. Hashes are lowercase hex in parameters and results, and bytes internally.
 * @see RFC 9162 section 2.1; "compact range" in transparency-dev/merkle
 */
import type { TreeGrowth, TreeNode } from '../../../../sdk/storage/ledger.ts'

/** Only levels divisible by this are stored: one node per 15 entries, and at most 15 hashes to compute any other. */
export const keptLevels = 4

function sha256(bytes: Uint8Array): Buffer {
  const hash = Buffer.alloc(32)
  Bun.SHA256.hash(bytes, hash)
  return hash
}

/** `SHA-256(0x00 || entry)`. */
export const leafHash = (entry: string): Buffer => sha256(Uint8Array.fromHex(`00${entry}`))

/** `SHA-256(0x01 || left || right)`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  const bytes = new Uint8Array(65)
  bytes[0] = 1
  bytes.set(left, 1)
  bytes.set(right, 33)
  return sha256(bytes)
}

/** The root of the empty tree: SHA-256 of nothing. */
const emptyRoot = Bun.SHA256.hash('', 'hex')

/** The root of the tree that a frontier covers. */
export function rootOf(frontier: readonly string[]): string {
  const [last, ...rest] = frontier.map((hash) => Buffer.from(hash, 'hex')).reverse()
  if (!last) return emptyRoot
  return rest.reduce<Buffer>((right, left) => nodeHash(left, right), last).toString('hex')
}

/** Levels of the frontier's roots over this many subtrees of a level, highest first. */
function levelsOf(subtrees: number, level: number): number[] {
  const levels: number[] = []
  for (let left = subtrees, at = level; left > 0; left = Math.floor(left / 2), at++)
    if (left % 2 === 1) levels.unshift(at)
  return levels
}

/**
 * Grows a tree by entries, or by whole perfect subtrees of a level.
 * @param size number of these before
 * @param added the entries; above level 0 the roots of the subtrees
 * @returns the frontier after them, and the nodes of kept levels above them that they complete
 */
export function grow(frontier: readonly string[], size: number, added: readonly string[], level = 0): TreeGrowth {
  /** By level, a root that is the left child of the node which its sibling will complete. */
  const roots: Buffer[] = []
  for (const [at, from] of levelsOf(size, level).entries()) roots[from] = Buffer.from(frontier[at]!, 'hex')
  const nodes: TreeNode[] = []
  for (const [which, text] of added.entries()) {
    let node = level === 0 ? leafHash(text) : Buffer.from(text, 'hex')
    let at = level
    for (let index = size + which; index % 2 === 1; ) {
      node = nodeHash(roots[at]!, node)
      at++
      index = (index - 1) / 2
      if (at % keptLevels === 0) nodes.push({ level: at, index, hash: node.toString('hex') })
    }
    roots[at] = node
  }
  return { frontier: levelsOf(size + added.length, level).map((from) => roots[from]!.toString('hex')), nodes }
}
