/** Signs checkpoints of a log, and never one that contradicts what the log said before. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceHead } from '../../../sdk/storage/evidence.ts'
import { bytesOfBase64, NoteError, parseNote, type Signer } from './note.ts'
import { logTree } from './proof.ts'
import { rootOf } from './tree.ts'

export interface SignedCheckpoint extends Checkpoint {
  /** Hash of the last record, lowercase hex; 64 zeros where there is none. */
  head_hash: string
  /** The signed note. */
  note: string
  /** When it was signed, RFC 3339, UTC. */
  created_at: string
}

export interface Checkpoints {
  /**
   * The checkpoint of the log as it is: signed, and kept in the log's own store. While the log does not grow it stays the same one.
   * @param max_age_ms how long ago it may have been looked at; 0 asks the log
   * @throws StorageError `corrupt` when the log is not what an earlier checkpoint says that it was
   */
  latest(max_age_ms?: number): Promise<SignedCheckpoint>
  /** Remembers that a bundle holds this checkpoint: from now on a verification expects it. */
  exported(checkpoint: SignedCheckpoint): Promise<void>
}

/** What the log said that it was. */
type Said = Pick<SignedCheckpoint, 'size' | 'head_hash' | 'root_hash'>

const damaged = (message: string): StorageError =>
  new StorageError('corrupt', `the evidence log is damaged: ${message}`)

/** The largest checkpoint that the log's store remembers; null where it remembers none. */
async function remembered(evidence: Evidence): Promise<Said | null> {
  const stored = await evidence.checkpoints()
  const [largest] = stored.toSorted((a, b) => b.size - a.size)
  if (!largest) return null
  try {
    const { size, root_hash } = parseCheckpoint(parseNote(largest.note).text)
    if (size === largest.size) return { size, head_hash: largest.head_hash, root_hash }
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
  }
  throw damaged(`its checkpoint of size ${largest.size} can't be read`)
}

/** The root of the log as it is. @throws StorageError `corrupt` where the log does not extend what it said before */
async function extended(evidence: Evidence, head: EvidenceHead, said: Said | null): Promise<string> {
  const tree = logTree(evidence)
  const root = rootOf(head.frontier)
  if ((await tree.root(head.seq)) !== root) throw damaged('its tree does not fit its records')
  // It is kept beside the note: a wrong one would say for ever that the log was rewritten.
  if (head.seq > 0 && (await evidence.hashes(head.seq, 1))[0] !== head.hash)
    throw damaged(`its head does not name the hash of record ${head.seq}`)
  if (said === null || said.size === 0) return root
  if (said.size > head.seq) throw damaged(`it ends at ${head.seq}, but had ${said.size} records`)
  const [hash] = await evidence.hashes(said.size, 1)
  if (hash !== said.head_hash || (await tree.root(said.size)) !== said.root_hash)
    throw damaged(`its first ${said.size} records are not those that it had`)
  return root
}

export function createCheckpoints(input: { evidence: Evidence; signer: Signer; now(): number }): Checkpoints {
  const { evidence, signer, now } = input
  let first: Promise<Said | null> | undefined
  let last: SignedCheckpoint | null = null
  let looked_at_ms = Number.NEGATIVE_INFINITY
  /** By head: calls at once make one checkpoint. */
  const underWay = new Map<string, Promise<SignedCheckpoint>>()

  const make = async (head: EvidenceHead, at: number): Promise<SignedCheckpoint> => {
    first ??= remembered(evidence)
    const said = last ?? (await first)
    const root_hash = await extended(evidence, head, said)
    const checkpoint = { origin: signer.name, size: head.seq, root_hash }
    const created_at = new Date(at).toISOString()
    const note = signer.sign(checkpointText(checkpoint))
    // Of an empty log there is nothing that could be lost.
    if (head.seq > 0 && !(said?.size === head.seq && said.head_hash === head.hash))
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
        // Of two that were made at once the larger one stays.
        if (last === null || last.size <= signed.size) {
          last = signed
          looked_at_ms = at
        }
        return signed
      } catch (error) {
        // What could not be read may be there next time.
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

// Checkpoints: what a log was at one size, as the text of a note.
// @see C2SP tlog-checkpoint

export interface Checkpoint {
  /** Which log it is. */
  origin: string
  /** Records. */
  size: number
  /** Lowercase hex. */
  root_hash: string
}

/** The text that is signed. */
export const checkpointText = ({ origin, size, root_hash }: Checkpoint): string =>
  `${origin}\n${size}\n${Buffer.from(root_hash, 'hex').toString('base64')}\n`

/** Reads the text of a checkpoint. Lines after the third one are the log's own and are passed over. @throws NoteError */
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
