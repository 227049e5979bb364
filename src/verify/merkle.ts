/** The verifier's own Merkle tree: roots of a growing list of record hashes. @see RFC 9162 section 2.1 */
import { hash as digestOf } from 'node:crypto'

const digest = (prefix: number, ...parts: Uint8Array[]): Buffer =>
  digestOf('sha256', Buffer.concat([Uint8Array.of(prefix), ...parts]), 'buffer')

export interface Merkle {
  /** @param record_hash 64 hexadecimal digits */
  add(record_hash: string): void
  /** Root over what was added so far, lowercase hex. */
  root(): string
}

export function openMerkle(): Merkle {
  /** Roots of full subtrees, the largest first, with the number of their records. */
  const stack: { size: number; hash: Buffer }[] = []
  return {
    add(record_hash) {
      let node = { size: 1, hash: digest(0, Buffer.from(record_hash, 'hex')) }
      while (stack.at(-1)?.size === node.size) {
        const left = stack.pop()!
        node = { size: 2 * node.size, hash: digest(1, left.hash, node.hash) }
      }
      stack.push(node)
    },
    root() {
      let root: Buffer | null = null
      for (const { hash } of [...stack].reverse()) root = root ? digest(1, hash, root) : hash
      return (root ?? digestOf('sha256', '', 'buffer')).toString('hex')
    },
  }
}
