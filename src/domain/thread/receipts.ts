/** Receipts: acts of the thread with the proof that each is an entry of it, for anyone who has the key of the log. */
import type { StoredAct } from '../../../sdk/storage/thread.ts'
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
