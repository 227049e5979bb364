/**
 * Verifies a whole log: each entry, the tree over all of them, the head, and everything that was ever signed. Entries are walked in pieces,
 * which are perfect subtrees and independent of each other, so that several threads can walk at once in bounded memory.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import { noHash } from '../../../../sdk/storage/evidence-checks.ts'
import type { LedgerHead, LedgerReader, StoredCheckpoint, TreeNode } from '../../../../sdk/storage/ledger.ts'
import { parseCheckpoint } from './checkpoints.ts'
import { NoteError, parseNote } from './note.ts'
import { logTree } from './proof.ts'
import { grow, keptLevels } from './tree.ts'

/** What is wrong. `seq` is the first entry that is wrong itself; null if each is right and something else is wrong. */
export interface Flaw {
  seq: number | null
  reason: string
}

/** Entries that were read and checked. */
export interface Page {
  /** Up to the first flaw. */
  hashes: string[]
  /** What the first entry says is the hash before it; null if it says nothing, or there is none. */
  first_prev: string | null
  flaw: Flaw | null
}

/** Reads a log for a walk. */
export interface PieceReader extends Pick<LedgerReader, 'nodes'> {
  /** Whether each entry names the hash of the one before it, so that the hash of an entry stands for all before it. */
  isChained: boolean
  /** The entries from `seq` on. @param prev the hash before them; null if it is not known */
  page(seq: number, limit: number, prev: string | null): Promise<Page>
}

/** What was found in a piece. */
export interface Piece {
  /** Entries up to the first flaw. */
  count: number
  first_prev: string | null
  /** Null if there is no entry. */
  last_hash: string | null
  /** The frontier of a tree over only these entries: one root if the piece is full. */
  frontier: readonly string[]
  flaw: Flaw | null
  /** The first node of the tree that does not match the entries. */
  tree_flaw: Flaw | null
  /** The wanted hashes that are in the piece. */
  present: string[]
}

/** Level of the tree whose perfect subtrees are walked as one piece. */
const pieceLevel = 3 * keptLevels
export const pieceSize = 2 ** pieceLevel
/** Entries that are read and hashed in one go, which takes about a millisecond. */
const pageSize = 128

const nodeFlaw = ({ level, index }: Pick<TreeNode, 'level' | 'index'>): Flaw => ({
  seq: null,
  reason: `the tree over the entries ${index * 2 ** level + 1} to ${(index + 1) * 2 ** level} is not that of the entries`,
})

/** The first stored node that differs from the one computed from the entries, on the lowest level, which locates a change best. */
async function wrongNode(
  { nodes: read }: Pick<LedgerReader, 'nodes'>,
  nodes: readonly TreeNode[],
): Promise<Flaw | null> {
  for (const [level, made] of [...Map.groupBy(nodes, (node) => node.level)].toSorted(([a], [b]) => a - b)) {
    const stored = await read(level, made[0]!.index, made.length)
    const wrong = made.find(({ hash }, at) => stored[at] !== hash)
    if (wrong) return nodeFlaw(wrong)
  }
  return null
}

/**
 * Walks the piece of this index, up to the entry `end`.
 * @param yieldToEventLoop lets other work run
 * @param wanted hashes to look for
 */
export async function walkPiece(
  reader: PieceReader,
  index: number,
  end: number,
  yieldToEventLoop: () => Promise<void>,
  wanted: ReadonlySet<string> = new Set(),
): Promise<Piece> {
  const before = index * pieceSize
  const last = Math.min(end, before + pieceSize)
  const nodes: TreeNode[] = []
  const present: string[] = []
  let first_prev: string | null = null
  let prev: string | null = null
  let frontier: readonly string[] = []
  let flaw: Flaw | null = null
  let count = 0
  while (before + count < last && flaw === null) {
    const limit = Math.min(pageSize, last - before - count)
    const page = await reader.page(before + count + 1, limit, prev)
    if (count === 0) first_prev = page.first_prev
    prev = page.hashes.at(-1) ?? prev
    present.push(...page.hashes.filter((hash) => wanted.has(hash)))
    // A tree of only this piece; its nodes have higher indexes in the whole tree.
    const grown = grow(frontier, count, page.hashes)
    frontier = grown.frontier
    for (const { level, index: at, hash } of grown.nodes)
      nodes.push({ level, index: at + index * 2 ** (pieceLevel - level), hash })
    count += page.hashes.length
    flaw = page.flaw
    if (page.hashes.length < limit) break
    await yieldToEventLoop()
  }
  const tree_flaw = await wrongNode(reader, nodes)
  return { count, first_prev, last_hash: prev, frontier, flaw, tree_flaw, present }
}

/** Further threads that walk pieces. */
export interface Walkers {
  /** How many pieces are walked at once. */
  readonly lanes: number
  /** @throws if its thread fails */
  walk(index: number, end: number, wanted: ReadonlySet<string>): Promise<Piece>
  /** Ends the threads; promises of running walks never settle. */
  close(): void
}

export interface WalkOptions {
  log: LedgerReader
  reader: PieceReader
  /** Yields to other work. */
  yieldToEventLoop(): Promise<void>
  /** Starts threads; without it this thread does the walk. */
  walkers?: (() => Walkers) | undefined
  /** Called with the number of walked entries, and their total; null if the head can't be read. */
  walked?: ((entries: number, total: number | null) => void) | undefined
  wanted?: ReadonlySet<string>
}

/** The result of a walk over the whole log. */
export interface Walked {
  /** How many entries are right, from the first on. */
  records: number
  /** Hash of the last of them. */
  hash: string
  /** Hash of the last stored entry. */
  last_hash: string
  flaw: Flaw | null
  /** The wanted hashes that are in the log; incomplete if there is a flaw. */
  present: ReadonlySet<string>
}

/** Size of the log from which starting threads pays off. */
const walkersFrom = 4 * pieceSize

interface WalkedEntries extends Omit<Walked, 'last_hash'> {
  frontier: readonly string[]
}

/** The stored head; null if it can't be read. */
async function headOf(log: LedgerReader): Promise<LedgerHead | null> {
  try {
    return await log.head()
  } catch (error) {
    if (isStorageError(error, 'corrupt')) return null
    throw error
  }
}

/** Walks pieces in order, several at once, up to the first flaw or the end. */
async function walkEntries(options: WalkOptions, end: number): Promise<WalkedEntries> {
  const { log, reader, yieldToEventLoop, wanted = new Set<string>() } = options
  const walkers = end >= walkersFrom ? options.walkers?.() : undefined
  const here = (index: number) => walkPiece(reader, index, end, yieldToEventLoop, wanted)
  // If a thread fails, its piece is walked on this thread.
  const walk = (index: number) => (walkers ? walkers.walk(index, end, wanted).catch(() => here(index)) : here(index))
  const ahead: Promise<Piece>[] = []
  const present = new Set<string>()
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
      for (const one of piece.present) present.add(one)
      report()
      hash = piece.last_hash ?? hash
      if (piece.count < pieceSize) {
        frontier = [...frontier, ...piece.frontier]
        break
      }
      const grown = grow(frontier, index, piece.frontier, pieceLevel)
      frontier = grown.frontier
      tree_flaw ??= await wrongNode(log, grown.nodes)
    }
  } finally {
    walkers?.close()
  }
  return { records, hash, frontier, flaw: flaw ?? tree_flaw, present }
}

/** Checks a checkpoint that was signed against the entries. @param tree over them, known to be right; null if the hash of an entry is enough */
async function checkpointFlaw(
  log: LedgerReader,
  tree: ReturnType<typeof logTree> | null,
  { size, head_hash, note }: StoredCheckpoint,
  records: number,
): Promise<string | null> {
  if (size > records)
    return `the log was cut off: it ends at ${records} entries, and a checkpoint of ${size} was signed`
  const [stored] = size === 0 ? [noHash] : await log.hashes(size, 1)
  const rewritten = `the log was rewritten: its first ${size} entries are not those of the checkpoint that was signed over them`
  if (stored !== head_hash) return rewritten
  if (tree === null) return null
  try {
    const signed = parseCheckpoint(parseNote(note).text)
    return signed.size === size && signed.root_hash === (await tree.root(size)) ? null : rewritten
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    return `the checkpoint of size ${size} can’t be read`
  }
}

/** Checks head, tree and checkpoints against the entries. */
async function flawBeside(
  { log, reader: { isChained } }: WalkOptions,
  head: LedgerHead | null,
  checkpoints: readonly StoredCheckpoint[],
  { records, hash, frontier }: WalkedEntries,
): Promise<Flaw | null> {
  const flaw = (reason: string): Flaw => ({ seq: null, reason })
  if (head === null) return flaw('the head of the log can’t be read')
  if (records < head.seq) return flaw(`the log was cut off: it ends at record ${records}, its head says ${head.seq}`)
  if (hash !== head.hash) return flaw(`the head of the log does not name the hash of record ${records}`)
  if (frontier.join() !== head.frontier.join()) return flaw('the tree of the head is not that of the records')
  for (let level = keptLevels; level < 64; level += keptLevels) {
    const index = Math.floor(records / 2 ** level)
    const [extra] = await log.nodes(level, index, 1)
    if (extra === undefined) continue
    // Another process may have appended meanwhile.
    const now = await headOf(log)
    if (now === null || now.seq < (index + 1) * 2 ** level) return nodeFlaw({ level, index })
  }
  const tree = isChained ? null : logTree(log)
  for (const checkpoint of checkpoints) {
    const reason = await checkpointFlaw(log, tree, checkpoint, records)
    if (reason !== null) return flaw(reason)
  }
  return null
}

/** The head, and the flaw if an entry is stored after it. An entry that another process appends is after it only until the head is read again. */
async function endOf(log: LedgerReader): Promise<{ head: LedgerHead | null; beyond: Flaw | null }> {
  let head = await headOf(log)
  for (;;) {
    if (head === null || (await log.hashes(head.seq + 1, 1)).length === 0) return { head, beyond: null }
    const now = await headOf(log)
    if (now?.seq === head.seq) {
      const seq = head.seq + 1
      return { head, beyond: { seq, reason: `record ${seq} is behind the end of the log` } }
    }
    head = now
  }
}

/** Walks the whole log. Later appends are left to the next walk. */
export async function walkLog(options: WalkOptions): Promise<Walked> {
  const { log } = options
  // Read before the head: checkpoints that are signed in the meantime belong to a later one.
  const checkpoints = await log.checkpoints()
  const { head, beyond } = await endOf(log)
  const walked = await walkEntries(options, head?.seq ?? Number.POSITIVE_INFINITY)
  const { records, hash, present } = walked
  const flaw = walked.flaw ?? beyond ?? (await flawBeside(options, head, checkpoints, walked))
  return { records, hash, last_hash: walked.flaw === null ? hash : (head?.hash ?? hash), flaw, present }
}
