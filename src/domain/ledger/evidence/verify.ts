/**
 * Verification walks the whole log every time. Each record must follow the one before it, the tree must match the records, and
 * the log must still contain every head that was ever issued.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceHead } from '../../../../sdk/storage/evidence.ts'
import { noHash } from '../../../../sdk/storage/evidence-checks.ts'
import { growBy, keptLevels } from './tree.ts'
import { type Flaw, nodeFlaw, type Piece, pieceLevel, pieceSize, walkPiece } from './walk.ts'

/** Further threads that walk pieces. */
export interface Walkers {
  /** How many pieces are walked at once. */
  readonly lanes: number
  /** @throws if its thread fails */
  walk(index: number, end: number): Promise<Piece>
  /** Ends the threads; promises of running walks never settle. */
  close(): void
}

/** The methods that a verification needs. */
type ReadEvidence = Pick<Evidence, 'head' | 'read' | 'packed' | 'hashes' | 'nodes' | 'checkpoints'>

export interface VerifyOptions {
  evidence: ReadEvidence
  /** Yields to other work. */
  breathe(): Promise<void>
  /** Starts threads; without it this thread does the walk. */
  walkers?: (() => Walkers) | undefined
  /** Called with the number of walked records, and their total; null if the head can't be read. */
  walked?: ((records: number, total: number | null) => void) | undefined
}

/** The result of a walk over the whole log. */
export interface Walked {
  /** How many records follow, from the first on. */
  records: number
  /** Hash of the last of them. */
  hash: string
  /** Hash of the last stored record. */
  last_hash: string
  flaw: Flaw | null
}

/** Size of the log from which starting threads pays off. */
const walkersFrom = 4 * pieceSize

/** The stored head; null if it can't be read. */
async function headOf(evidence: ReadEvidence): Promise<EvidenceHead | null> {
  try {
    return await evidence.head()
  } catch (error) {
    if (isStorageError(error, 'corrupt')) return null
    throw error
  }
}

/** Walks pieces in order, several at once, up to the first flaw or the end. */
async function walkRecords(
  options: VerifyOptions,
  end: number,
): Promise<{ records: number; hash: string; frontier: readonly string[]; flaw: Flaw | null }> {
  const { evidence, breathe } = options
  const walkers = end >= walkersFrom ? options.walkers?.() : undefined
  const here = (index: number) => walkPiece(evidence, index, end, breathe)
  // If a thread fails, its piece is walked on this thread.
  const walk = (index: number) => (walkers ? walkers.walk(index, end).catch(() => here(index)) : here(index))
  const ahead: Promise<Piece>[] = []
  let frontier: readonly string[] = []
  let records = 0
  let hash = noHash
  let flaw: Flaw | null = null
  let tree_flaw: Flaw | null = null
  const report = () => options.walked?.(records, Number.isFinite(end) ? end : null)
  report()
  try {
    for (let index = 0; index * pieceSize < end && flaw === null; index++) {
      // The oldest piece is awaited first; twice as many pieces as lanes keep all lanes busy meanwhile.
      for (let next = index + ahead.length; ahead.length < 2 * (walkers?.lanes ?? 0.5); next++) {
        if (next * pieceSize >= end) break
        const piece = walk(next)
        piece.catch(() => {})
        ahead.push(piece)
      }
      const piece = await ahead.shift()!
      if (piece.first_prev !== null && piece.first_prev !== hash) {
        const seq = records + 1
        flaw = { seq, reason: `record ${seq} does not name the hash of the record before it` }
        break
      }
      flaw = piece.flaw
      tree_flaw ??= piece.tree_flaw
      records += piece.count
      report()
      hash = piece.last_hash ?? hash
      if (piece.count < pieceSize) {
        frontier = [...frontier, ...piece.frontier]
        break
      }
      const grown = growBy(frontier, pieceLevel, index, piece.frontier[0]!)
      frontier = grown.frontier
      for (const node of grown.nodes) {
        const [stored] = await evidence.nodes(node.level, node.index, 1)
        if (stored !== node.hash) tree_flaw ??= nodeFlaw(node)
      }
    }
  } finally {
    walkers?.close()
  }
  return { records, hash, frontier, flaw: flaw ?? tree_flaw }
}

/** Checks head, tree and issued heads against the records. */
async function flawBeside(
  evidence: ReadEvidence,
  head: EvidenceHead | null,
  { records, hash, frontier }: { records: number; hash: string; frontier: readonly string[] },
): Promise<Flaw | null> {
  const flaw = (reason: string): Flaw => ({ seq: null, reason })
  if (head === null) return flaw('the head of the log can’t be read')
  if (records < head.seq) return flaw(`the log was cut off: it ends at record ${records}, its head says ${head.seq}`)
  if (hash !== head.hash) return flaw(`the head of the log does not name the hash of record ${records}`)
  if (frontier.join() !== head.frontier.join()) return flaw('the tree of the head is not that of the records')
  for (let level = keptLevels; level < 64; level += keptLevels) {
    const index = Math.floor(records / 2 ** level)
    const [extra] = await evidence.nodes(level, index, 1)
    if (extra === undefined) continue
    // Another process may have appended meanwhile.
    const now = await headOf(evidence)
    if (now === null || now.seq < (index + 1) * 2 ** level) return nodeFlaw({ level, index })
  }
  for (const { size, head_hash } of await evidence.checkpoints()) {
    if (size > records)
      return flaw(`the log was cut off: it ends at record ${records}, and a head of ${size} records was given out`)
    const [stored] = size === 0 ? [noHash] : await evidence.hashes(size, 1)
    if (stored !== head_hash)
      return flaw(`the log was rewritten: the head of ${size} records that was given out is not in it`)
  }
  return null
}

/** The head, and the flaw if a record is stored after it. A record that another process appends is after it only until the head is read again. */
async function endOf(evidence: ReadEvidence): Promise<{ head: EvidenceHead | null; beyond: Flaw | null }> {
  let head = await headOf(evidence)
  for (;;) {
    if (head === null || (await evidence.hashes(head.seq + 1, 1)).length === 0) return { head, beyond: null }
    const now = await headOf(evidence)
    if (now?.seq === head.seq) {
      const seq = head.seq + 1
      return { head, beyond: { seq, reason: `record ${seq} is behind the end of the log` } }
    }
    head = now
  }
}

/** Walks the whole log. Later appends are left to the next walk. */
export async function walkLog(options: VerifyOptions): Promise<Walked> {
  const { evidence } = options
  const { head, beyond } = await endOf(evidence)
  const walked = await walkRecords(options, head?.seq ?? Number.POSITIVE_INFINITY)
  const { records, hash } = walked
  const flaw = walked.flaw ?? beyond ?? (await flawBeside(evidence, head, walked))
  return { records, hash, last_hash: walked.flaw === null ? hash : (head?.hash ?? hash), flaw }
}
