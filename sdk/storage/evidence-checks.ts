/** The checks that every evidence driver makes before it appends. The domain computes and verifies the hashes themselves. */
import { StorageError } from './errors.ts'
import type { EvidenceBatch } from './evidence.ts'
import type { LedgerHead, TreeGrowth } from './ledger.ts'

/** The `prev_hash` of the first record. */
export const noHash = '0'.repeat(64)

const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** Number of perfect subtrees that cover `size` records. */
function subtrees(size: number): number {
  let count = 0
  for (let left = size; left > 0; left = Math.floor(left / 2)) count += left % 2
  return count
}

/**
 * Checks that a batch follows the head.
 * @throws StorageError `invalid` if a record does not follow the one before it, or the tree can't be that of the records
 * @example
 * ```ts
 * followsHead(await head(), batch) // then write it, in the same transaction
 * ```
 */
export function followsHead(head: LedgerHead, { records, nodes, frontier }: EvidenceBatch): void {
  let { seq, hash } = head
  for (const record of records) {
    if (record.seq !== seq + 1)
      throw new StorageError('invalid', `the record after ${seq} has the number ${record.seq}`)
    if (record.prev_hash !== hash)
      throw new StorageError('invalid', `record ${record.seq} does not name the hash before it`)
    if (!isHash(record.hash))
      throw new StorageError('invalid', `record ${record.seq}: the hash is not 64 lower-case hexadecimal digits`)
    ;({ seq, hash } = record)
  }
  growsTree(head.seq, seq, { nodes, frontier })
}

/**
 * Checks that a tree over `before` leaves can grow by these nodes to `after` leaves.
 * @throws StorageError `invalid` if it can't
 * @example
 * ```ts
 * growsTree(head.seq, head.seq + leaves.length, grown)
 * ```
 */
export function growsTree(before: number, after: number, { nodes, frontier }: TreeGrowth): void {
  if (frontier.length !== subtrees(after) || !frontier.every(isHash))
    throw new StorageError('invalid', `the frontier does not cover ${after} records`)
  for (const { level, index, hash } of nodes) {
    const last = (index + 1) * 2 ** level
    if (!isHash(hash) || last <= before || last > after)
      throw new StorageError('invalid', `the node ${index} of level ${level} is not completed by these records`)
  }
}
