/** Checks that the tree of the thread is that of its entries, and that it still contains each signed checkpoint. */
import { isStorageError } from '../../../../../sdk/storage/errors.ts'
import type { LedgerReader } from '../../../../../sdk/storage/ledger.ts'
import { type PieceReader, walkLog } from '../../engine/walk.ts'
import { flawAt, type ThreadFlaw } from './flaw.ts'

/** The acts as entries of a walk: each is its commitment. Acts are compared with their commitments elsewhere. */
export const threadEntries = (thread: LedgerReader): PieceReader => ({
  isChained: false,
  nodes: (level, index, limit) => thread.nodes(level, index, limit),
  async page(seq, limit) {
    const hashes = await thread.hashes(seq, limit)
    const odd = hashes.findIndex((hash) => !/^[0-9a-f]{64}$/.test(hash))
    if (odd === -1) return { hashes, first_prev: null, flaw: null }
    const flaw = { seq: seq + odd, reason: `entry ${seq + odd - 1} is not a commitment` }
    return { hashes: hashes.slice(0, odd), first_prev: null, flaw }
  },
})

/** Walks all entries. @returns the first flaw; null if there is none */
export async function treeFlaw(
  thread: LedgerReader,
  yieldToEventLoop: () => Promise<void>,
): Promise<ThreadFlaw | null> {
  try {
    const { flaw } = await walkLog({ log: thread, reader: threadEntries(thread), yieldToEventLoop })
    return flaw && flawAt(flaw.seq === null ? null : flaw.seq - 1, `the thread: ${flaw.reason}`)
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    return flawAt(null, `the thread: ${error.message}`)
  }
}
