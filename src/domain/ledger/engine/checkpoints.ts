/** Signs checkpoints of a log, and never one that contradicts an earlier one. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Ledger, LedgerHead, LedgerReader } from '../../../../sdk/storage/ledger.ts'
import { bytesOfBase64, NoteError, parseNote, type Signer } from './note.ts'
import { logTree } from './proof.ts'
import { rootOf } from './tree.ts'

interface SignedCheckpoint extends Checkpoint {
  /** Hash of the last record, lowercase hex; 64 zeros if there is none. */
  head_hash: string
  /** The signed note. */
  note: string
  /** When it was signed, RFC 3339, UTC. */
  created_at: string
}

export interface Checkpoints {
  /**
   * The checkpoint of the current log: signed, and stored with the log. It stays the same while the log does not grow.
   * @param max_age_ms maximum age of the last read of the log; 0 always reads it
   * @throws StorageError `corrupt` if the log contradicts an earlier checkpoint
   */
  latest(max_age_ms?: number): Promise<SignedCheckpoint>
  /** Marks this checkpoint as part of a bundle: from now on verifications expect it. */
  exported(checkpoint: SignedCheckpoint): Promise<void>
}

/** What the last signed checkpoint said about the log. */
type LastCheckpoint = Omit<SignedCheckpoint, 'note' | 'created_at'>

const damaged = (message: string, what = 'the evidence log'): StorageError =>
  new StorageError('corrupt', `${what} is damaged: ${message}`)

/** The largest checkpoint is among this many saved last, even if several servers save them. */
const recent = 256

/** The largest stored checkpoint, and of equally large ones the last stored; null if there is none. */
async function remembered(evidence: Pick<LedgerReader, 'checkpoints'>, what?: string): Promise<LastCheckpoint | null> {
  const stored = await evidence.checkpoints(recent)
  const [largest] = stored.toReversed().toSorted((a, b) => b.size - a.size)
  if (!largest) return null
  try {
    const { origin, size, root_hash } = parseCheckpoint(parseNote(largest.note).text)
    if (size === largest.size) return { origin, size, head_hash: largest.head_hash, root_hash }
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
  }
  throw damaged(`its checkpoint of size ${largest.size} can't be read`, what)
}

/** The current root of the log. @throws StorageError `corrupt` if the log does not extend its last checkpoint */
async function extended(
  evidence: Ledger,
  head: LedgerHead,
  last: LastCheckpoint | null,
  what?: string,
): Promise<string> {
  const tree = logTree(evidence)
  const root = rootOf(head.frontier)
  if ((await tree.root(head.seq)) !== root) throw damaged('its tree does not match its records', what)
  // The hash is stored with the note: with a wrong one, every later check would report a rewritten log.
  if (head.seq > 0 && (await evidence.hashes(head.seq, 1))[0] !== head.hash)
    throw damaged(`its head does not name the hash of record ${head.seq}`, what)
  if (last === null || last.size === 0) return root
  if (last.size > head.seq) throw damaged(`it ends at ${head.seq}, but had ${last.size} records`, what)
  const [hash] = await evidence.hashes(last.size, 1)
  if (hash !== last.head_hash || (await tree.root(last.size)) !== last.root_hash)
    throw damaged(`its first ${last.size} records are not those that it had`, what)
  return root
}

/** The last signer of a log, and its length. */
export interface Signed {
  records: number
  /** Origin of the last checkpoint; null if there is no readable one. */
  origin: string | null
}

export async function lastSigned(evidence: Pick<LedgerReader, 'head' | 'checkpoints'>): Promise<Signed> {
  const { seq: records } = await evidence.head()
  // A damaged log is reported by its verification.
  const last = records === 0 ? null : await remembered(evidence).catch(() => null)
  return { records, origin: last?.origin ?? null }
}

export function createCheckpoints(input: {
  evidence: Ledger
  signer: Signer
  now(): number
  /** Names the log in errors. [the evidence log] */
  what?: string
}): Checkpoints {
  const { evidence, signer, now, what } = input
  let first: Promise<LastCheckpoint | null> | undefined
  let last: SignedCheckpoint | null = null
  let looked_at_ms = Number.NEGATIVE_INFINITY
  /** By head, so that concurrent calls make one checkpoint. */
  const underWay = new Map<string, Promise<SignedCheckpoint>>()

  const make = async (head: LedgerHead, at: number): Promise<SignedCheckpoint> => {
    first ??= remembered(evidence, what)
    const before = last ?? (await first)
    const root_hash = await extended(evidence, head, before, what)
    const checkpoint = { origin: signer.name, size: head.seq, root_hash }
    const created_at = new Date(at).toISOString()
    const note = signer.sign(checkpointText(checkpoint))
    // An empty log needs no stored checkpoint. A checkpoint with a new origin is stored even if the log is the same.
    const known = before?.size === head.seq && before.head_hash === head.hash && before.origin === signer.name
    if (head.seq > 0 && !known)
      await evidence.saveCheckpoint({ size: head.seq, head_hash: head.hash, note, created_at, exported: false })
    return { ...checkpoint, head_hash: head.hash, note, created_at }
  }
  return {
    async latest(max_age_ms = 0) {
      const at = now()
      if (last !== null && max_age_ms > 0 && at - looked_at_ms <= max_age_ms) return last
      const head = await evidence.head()
      if (last !== null && last.size === head.seq && last.head_hash === head.hash) {
        looked_at_ms = at
        return last
      }
      const key = `${head.seq} ${head.hash}`
      const making = underWay.get(key) ?? make(head, at)
      underWay.set(key, making)
      try {
        const signed = await making
        // Of two concurrent checkpoints the larger one is kept.
        if (last === null || last.size <= signed.size) {
          last = signed
          looked_at_ms = at
        }
        return signed
      } catch (error) {
        // The next call reads the stored checkpoint again.
        first = undefined
        throw error
      } finally {
        underWay.delete(key)
      }
    },
    async exported({ size, head_hash, note, created_at }) {
      await evidence.saveCheckpoint({ size, head_hash, note, created_at, exported: true })
    },
  }
}

/** The state of a log at one size, as the text of a note. @see C2SP tlog-checkpoint */
export interface Checkpoint {
  /** The name of the log. */
  origin: string
  /** Number of records. */
  size: number
  /** Lowercase hex. */
  root_hash: string
}

/** The text that is signed. */
export const checkpointText = ({ origin, size, root_hash }: Checkpoint): string =>
  `${origin}\n${size}\n${Buffer.from(root_hash, 'hex').toString('base64')}\n`

/** Reads the text of a checkpoint. Lines after the third one are extensions of the log and are ignored. @throws NoteError */
export function parseCheckpoint(text: string): Checkpoint {
  const lines = text.split('\n')
  if (lines.length < 4 || lines.pop() !== '' || lines.includes(''))
    throw new NoteError('expected a checkpoint: three lines or more, none of them empty')
  const [origin = '', decimal = '', encoded = ''] = lines
  const size = Number(decimal)
  if (!/^(?:0|[1-9]\d*)$/.test(decimal) || !Number.isSafeInteger(size))
    throw new NoteError('expected a checkpoint whose second line is its size')
  const root = bytesOfBase64(encoded)
  if (root?.length !== 32) throw new NoteError('expected a checkpoint whose third line is a root hash in base64')
  return { origin, size, root_hash: root.toString('hex') }
}
