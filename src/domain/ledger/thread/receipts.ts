/** Receipts: acts of the thread, each with a proof that it is an entry, for anyone who has the key of the log. */
import type { ActEntry, StoredAct, ThreadReader } from '../../../../sdk/storage/thread.ts'
import type { Caller } from '../../../core/caller.ts'
import { type LogHashes, proveInclusion, tlogProof } from '../engine/proof.ts'

/** A published checkpoint, with its cosignatures. */
export interface Published {
  size: number
  /** Lowercase hex. */
  root_hash: string
  /** The signed note. */
  note: string
}

/** Selects the checkpoints to publish. */
export interface Publisher {
  /**
   * A checkpoint of at least `size` entries: with a quorum of cosignatures, if witnesses are configured and give them within seconds, else
   * signed only by the log.
   */
  covering(size: number): Promise<Published>
  /** The public checkpoint; with witnesses, the latest one that has their quorum. */
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
  /** The payload as the log commits to it; null once erased. */
  payload_json: string | null
  /** Null once erased. */
  salt: string | null
  commitment: string
  /** C2SP tlog-proof. */
  proof: string
}

/** Acts that agents may see only of themselves: their calls, the verdicts on these, and the approvals that they requested. */
const ownKinds: ReadonlySet<StoredAct['kind']> = new Set(['verdict', 'call', 'action', 'session', 'approval'])

/** Whether the caller may see an act. Decisions and what became part of them are visible to every reader, other acts to their agent. */
export function maySee({ kind, payload }: Pick<StoredAct, 'kind' | 'payload'>, { agent, scopes }: Caller): boolean {
  if (!ownKinds.has(kind) || payload === null || scopes.has('admin')) return true
  if (kind === 'approval' && scopes.has('approve')) return true
  return (JSON.parse(payload) as { agent?: unknown }).agent === agent
}

/** Most bytes of payloads in one answer: a state of a decision holds a record, which its receipt contains three times. */
const maxBytes = 8 * 1_048_576

/**
 * Reads the acts that fit into an answer. @param wanted the most important first
 * @returns the acts in the order of the log, and whether some are left out
 */
export async function actsThatFit(
  { thread }: { thread: Pick<ThreadReader, 'read'> },
  wanted: readonly ActEntry[],
  maxActs: number,
): Promise<{ acts: StoredAct[]; isCut: boolean }> {
  let left = maxBytes
  const fitting = wanted.filter(({ bytes }, at) => {
    // An act that is too long leaves its room to the next ones.
    const fits = at < maxActs && bytes <= left
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
      ...{ payload_json: payload, salt, commitment },
      proof: tlogProof({ index, hashes, checkpoint: note }),
    })
  }
  return receipts
}
