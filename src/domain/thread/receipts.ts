/** Receipts: acts of the thread with the proof that each is an entry of it, for anyone who has the key of the log. */
import type { ActEntry, StoredAct, ThreadReader } from '../../../sdk/storage/thread.ts'
import type { Caller } from '../../core/caller.ts'
import { type LogHashes, proveInclusion } from '../evidence/proof.ts'
import { tlogProof } from '../evidence/tlog-proof.ts'

/** A checkpoint that is given out, with the cosignatures that it has. */
export interface Published {
  size: number
  /** Lowercase hex. */
  root_hash: string
  /** The signed note. */
  note: string
}

/** Which checkpoint is given out when. */
export interface Publisher {
  /**
   * A checkpoint of at least so many entries: one with a quorum of cosignatures, if witnesses are configured and give them within
   * seconds, else one that the log alone signed.
   */
  covering(size: number): Promise<Published>
  /** What the log shows to anyone; with witnesses the latest checkpoint that has their quorum. */
  shown(): Promise<Published>
  close(): Promise<void>
}

export interface Receipt {
  record_id: string
  kind: StoredAct['kind']
  /** Place in the log, from 0. */
  index: number
  /** Null once erased. */
  payload: Record<string, unknown> | null
  /** Null once erased. */
  salt: string | null
  commitment: string
  /** C2SP tlog-proof. */
  proof: string
}

/** What agents may know only of themselves: their calls, what rules said to these, and what they asked people for. */
const ownKinds: ReadonlySet<StoredAct['kind']> = new Set(['verdict', 'call', 'action', 'session', 'approval'])

/** Whether the caller may see an act: decisions and what became part of them are for every reader, the rest is its agent's own. */
export function maySee({ kind, payload }: Pick<StoredAct, 'kind' | 'payload'>, { agent, scopes }: Caller): boolean {
  if (!ownKinds.has(kind) || payload === null || scopes.has('admin')) return true
  if (kind === 'approval' && scopes.has('approve')) return true
  return (JSON.parse(payload) as { agent?: unknown }).agent === agent
}

/** Bytes of payloads in one answer: a state of a decision is a record, which its receipt holds three times. */
const mostBytes = 8 * 1_048_576

/**
 * Reads those of the acts that fit into an answer. @param wanted the most important first
 * @returns in their order, and whether some are left out
 */
export async function actsThatFit(
  { thread }: { thread: Pick<ThreadReader, 'read'> },
  wanted: readonly ActEntry[],
  mostActs: number,
): Promise<{ acts: StoredAct[]; isCut: boolean }> {
  let left = mostBytes
  const fitting = wanted.filter(({ bytes }, at) => {
    // A longer one leaves its room to the next.
    const fits = at < mostActs && bytes <= left
    if (fits) left -= bytes
    return fits
  })
  const acts = await thread.read({ record_ids: fitting.map(({ record_id }) => record_id) })
  const placeOf = ({ seq }: StoredAct) => seq ?? Number.POSITIVE_INFINITY
  return { acts: acts.sort((a, b) => placeOf(a) - placeOf(b) || 0), isCut: fitting.length < wanted.length }
}

/**
 * @param acts that the checkpoint covers
 * @throws StorageError `corrupt` if the log can't prove an act
 */
export async function receiptsOf(
  log: LogHashes,
  checkpoint: Published,
  acts: readonly StoredAct[],
): Promise<Receipt[]> {
  const { size, root_hash, note } = checkpoint
  const receipts: Receipt[] = []
  for (const { record_id, kind, seq, payload, salt, commitment } of acts) {
    if (seq === null || seq > size) continue
    const { index, hashes } = await proveInclusion(log, seq, size, root_hash)
    receipts.push({
      ...{ record_id, kind, index },
      payload: payload === null ? null : JSON.parse(payload),
      ...{ salt, commitment },
      proof: tlogProof({ index, hashes, checkpoint: note }),
    })
  }
  return receipts
}
