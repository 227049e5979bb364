/** Checks that the tree of the thread is that of its entries, and that it still contains each signed checkpoint. */
import { isStorageError } from '../../../../../sdk/storage/errors.ts'
import type { EvidenceHead, StoredCheckpoint, TreeNode } from '../../../../../sdk/storage/evidence.ts'
import type { ThreadReads } from '../../../../../sdk/storage/thread.ts'
import { parseCheckpoint } from '../../evidence/checkpoints.ts'
import { NoteError, parseNote } from '../../evidence/note.ts'
import { grow, keptLevels, rootOf } from '../../evidence/tree.ts'
import { flawAt, type ThreadFlaw } from './flaw.ts'

/** Entries that are hashed before other calls have their turn. */
const page = 1_024

const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)
const entries = (from: number, to: number): string =>
  from === to - 1 ? `entry ${from}` : `entries ${from} to ${to - 1}`

/** The first node whose stored hash differs from the computed one, on the lowest level, which locates the change best. */
async function changedNode(thread: ThreadReads, nodes: readonly TreeNode[]): Promise<TreeNode | null> {
  for (const [level, some] of [...Map.groupBy(nodes, (node) => node.level)].toSorted(([a], [b]) => a - b)) {
    const stored = await thread.nodes(level, some[0]!.index, some.length)
    const changed = some.find(({ hash }, at) => stored[at] !== hash)
    if (changed) return changed
  }
  return null
}

/** Compares the roots that cover all entries with those of the head. The flaw names the entries below the first that differs. */
function changedRoot({ seq, frontier }: EvidenceHead, own: readonly string[]): ThreadFlaw | null {
  let from = 0
  for (const [at, hash] of own.entries()) {
    const width = 2 ** Math.floor(Math.log2(seq - from))
    if (frontier[at] !== hash)
      return flawAt(from, `${entries(from, from + width)} of the thread: one of them is not what the head was made of`)
    from += width
  }
  return frontier.length === own.length ? null : flawAt(null, 'the head of the thread has another form than its size')
}

/** Checks a signed checkpoint against the log at its size. */
function signedFlaw(checkpoint: StoredCheckpoint, root: string, hash: string): ThreadFlaw | null {
  const { size, note, head_hash } = checkpoint
  const gone = flawAt(
    null,
    `the first ${size} entries of the thread are not those of the checkpoint that was signed over them`,
  )
  try {
    const signed = parseCheckpoint(parseNote(note).text)
    return signed.size !== size || signed.root_hash !== root || head_hash !== hash ? gone : null
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    return flawAt(null, `the checkpoint of the thread of size ${size} can’t be read`)
  }
}

/** Walks all entries. @returns the first flaw; null if there is none */
export async function treeFlaw(thread: ThreadReads, breathe: () => Promise<void>): Promise<ThreadFlaw | null> {
  let head: EvidenceHead
  try {
    head = await thread.head()
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    return flawAt(null, `the head of the thread can’t be read: ${error.message}`)
  }
  // Checkpoints that are signed in the meantime belong to a later head.
  const signed = (await thread.checkpoints()).toSorted((a, b) => a.size - b.size)
  let frontier: readonly string[] = []
  let last = ''
  let next = 0
  for (let size = 0; size < head.seq; await breathe()) {
    while (signed[next] !== undefined && signed[next]!.size <= size) next++
    const end = Math.min(head.seq, size + page, signed[next]?.size ?? head.seq)
    const hashes = await thread.hashes(size + 1, end - size)
    const odd = hashes.findIndex((hash) => !isHash(hash))
    if (odd !== -1) return flawAt(size + odd, `entry ${size + odd} of the thread is not a commitment`)
    if (hashes.length < end - size)
      return flawAt(
        size + hashes.length,
        `the thread was cut off: it has ${size + hashes.length} entries, its head says ${head.seq}`,
      )
    const grown = grow(frontier, size, hashes)
    const changed = await changedNode(thread, grown.nodes)
    if (changed) {
      const from = changed.index * 2 ** changed.level
      const range = entries(from, from + 2 ** changed.level)
      return flawAt(
        from,
        `${range} of the thread: one of them, or the tree over them, was changed, inserted or left out`,
      )
    }
    frontier = grown.frontier
    size = end
    last = hashes.at(-1)!
    for (; signed[next]?.size === size; next++) {
      const flaw = signedFlaw(signed[next]!, rootOf(frontier), last)
      if (flaw) return flaw
    }
  }
  const root = changedRoot(head, frontier)
  if (root) return root
  if (head.seq > 0 && last !== head.hash)
    return flawAt(head.seq - 1, `the head of the thread does not name entry ${head.seq - 1}`)
  const beyond = signed.find(({ size }) => size > head.seq)
  if (beyond && beyond.size > (await thread.head()).seq)
    return flawAt(
      head.seq,
      `the thread was cut off: it has ${head.seq} entries, and a checkpoint of ${beyond.size} was signed`,
    )
  for (let level = keptLevels; level < 64; level += keptLevels) {
    const index = Math.floor(head.seq / 2 ** level)
    if ((await thread.nodes(level, index, 1)).length > 0 && (await thread.head()).seq === head.seq)
      return flawAt(null, `the tree of the thread has a node of level ${level} beyond its end`)
  }
  return null
}
