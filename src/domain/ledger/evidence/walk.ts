/**
 * The walk over one piece of the log: everything in it is recomputed from the records. Pieces are independent, so that several threads
 * can walk at once; `verify.ts` joins the results.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceRecord, TreeNode } from '../../../../sdk/storage/evidence.ts'
import { preimageFrame, recordHash } from './hash.ts'
import { type PackedPage, packedPages } from './packed.ts'
import { grow, growWith, keptLevels } from './tree.ts'

/** Level of the tree whose perfect subtrees are walked as one piece. */
export const pieceLevel = 3 * keptLevels
export const pieceSize = 2 ** pieceLevel
/** Records that are read and hashed in one go, which takes less than a millisecond. */
const pageSize = 128
const checkPacked = packedPages(pageSize)

/** What is wrong. `seq` is the first record that does not follow; null if each follows and something else is wrong. */
export interface Flaw {
  seq: number | null
  reason: string
}

/** What was found in a piece. */
export interface Piece {
  /** Records up to the first flaw. */
  count: number
  /** The first record's hash of the record before it; null if there is no record. */
  first_prev: string | null
  /** Null if there is no record. */
  last_hash: string | null
  /** The frontier of a tree over only these records: one root if the piece is full. */
  frontier: readonly string[]
  /** The first record that does not follow. */
  flaw: Flaw | null
  /** The first node of the tree that does not match the records. */
  tree_flaw: Flaw | null
}

/** What a walk reads. */
export type WalkReader = Pick<Evidence, 'read' | 'packed' | 'nodes'>

/** Why a record does not follow `prev`; null if it does. */
function flawOf(record: EvidenceRecord, seq: number, prev: string | null): string | null {
  if (record.seq !== seq) return `record ${record.seq} is in the place of record ${seq}`
  if (record.evidence_class !== 'observed' && record.evidence_class !== 'attested')
    return `record ${seq} has an invalid evidence class`
  if (prev !== null && record.prev_hash !== prev) return `record ${seq} does not name the hash of the record before it`
  if (recordHash(record) !== record.hash) return `record ${seq} does not match its hash`
  return null
}

/** Reads a page, or as much of it as can be read. */
async function readPage(
  reader: WalkReader,
  from: number,
  limit: number,
): Promise<{ records: EvidenceRecord[]; flaw: Flaw | null }> {
  try {
    return { records: await reader.read(from, limit), flaw: null }
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    if (limit === 1)
      return { records: [], flaw: { seq: Math.max(1, from), reason: `record ${Math.max(1, from)} can’t be read` } }
  }
  const half = Math.floor(limit / 2)
  const first = await readPage(reader, from, half)
  if (first.flaw) return first
  const second = await readPage(reader, Math.max(1, from) + half, limit - half)
  return { records: [...first.records, ...second.records], flaw: second.flaw }
}

/** The first stored node that differs from the one computed from the records. */
async function wrongNode(reader: WalkReader, index: number, nodes: readonly TreeNode[]): Promise<Flaw | null> {
  for (let level = keptLevels; level <= pieceLevel; level += keptLevels) {
    const made = nodes.filter((node) => node.level === level)
    const stored = await reader.nodes(level, index * 2 ** (pieceLevel - level), made.length)
    const wrong = made.find((node, at) => node.hash !== stored[at])
    if (wrong) return nodeFlaw(wrong)
  }
  return null
}

export const nodeFlaw = ({ level, index }: Pick<TreeNode, 'level' | 'index'>): Flaw => ({
  seq: null,
  reason: `node ${index} of level ${level} of the tree is not that of the records`,
})

/**
 * Walks the piece of this index, up to the record `end`.
 * @param breathe lets other work run
 */
export async function walkPiece(
  reader: WalkReader,
  index: number,
  end: number,
  breathe: () => Promise<void>,
): Promise<Piece> {
  const before = index * pieceSize
  const last = Math.min(end, before + pieceSize)
  let first_prev: string | null = null
  let prev: string | null = null
  let seq = before
  let frontier: readonly string[] = []
  const nodes: TreeNode[] = []
  let flaw: Flaw | null = null
  // A tree of only this piece; its nodes have higher indexes in the whole tree.
  const grown = (by: ReturnType<typeof grow>): void => {
    frontier = by.frontier
    for (const { level, index: at, hash } of by.nodes)
      nodes.push({ level, index: at + index * 2 ** (pieceLevel - level), hash })
  }
  while (seq < last && flaw === null) {
    const limit = Math.min(pageSize, last - seq)
    // The first piece is read from 0 on, so that a record below 1 is detected.
    const from = seq === 0 ? 0 : seq + 1
    const bytes = (await reader.packed?.(from, seq + 1 + limit, preimageFrame)) ?? null
    const packed: PackedPage | null = bytes && checkPacked(bytes, seq + 1, limit, prev)
    if (packed) {
      first_prev ??= packed.first_prev
      prev = packed.last_hash
      grown(growWith(frontier, seq - before, limit, (target, which) => target.set(packed.hashes[which]!)))
      seq += limit
      await breathe()
      continue
    }
    const page = await readPage(reader, from, limit)
    const hashes: string[] = []
    for (const record of page.records) {
      const reason = flawOf(record, seq + 1, prev)
      if (reason !== null) {
        flaw = { seq: record.seq, reason }
        break
      }
      first_prev ??= record.prev_hash
      prev = record.hash
      hashes.push(prev)
      seq++
    }
    grown(grow(frontier, seq - before - hashes.length, hashes))
    flaw ??= page.flaw
    if (page.records.length < limit) break
    await breathe()
  }
  const tree_flaw = await wrongNode(reader, index, nodes)
  return { count: seq - before, first_prev, last_hash: prev, frontier, flaw, tree_flaw }
}
