/** Receipts: acts of the thread, each with a proof that it is an entry, for anyone who has the key of the log. */
import type { Receipt } from '../../../../sdk/schema/receipt.ts'
import type { ActEntry, StoredAct, ThreadReader } from '../../../../sdk/storage/thread.ts'
import { type Caller, seesAll } from '../../../core/caller.ts'
import { type LogHashes, proveInclusion, tlogProof } from '../engine/proof.ts'
import { isCovered, parseTilePath, tileBytes } from '../engine/tiles.ts'
import type { Thread } from './sequencer.ts'

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

/** Acts that agents may see only of themselves: their calls, the verdicts on these, and the approvals that they requested. */
const ownKinds: ReadonlySet<StoredAct['kind']> = new Set(['verdict', 'call', 'action', 'session', 'approval', 'state'])

/** Whether the caller may see an act. Decisions and what became part of them are visible to every reader, other acts to their agent. */
export function maySee({ kind, payload }: Pick<StoredAct, 'kind' | 'payload'>, caller: Caller): boolean {
  const { agent, scopes } = caller
  if (!ownKinds.has(kind) || payload === null || seesAll(caller)) return true
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

/** Subject of all redactions, by which they are found among the acts. */
export const redactionSubject = 'redaction'
/** Redactions that are read at once, and the most that are searched. */
const [redactionsAtOnce, mostRedactions] = [20, 100_000]

/** The redactions of these acts, without which nothing says what an erased act was. Reads all redactions, but only if some act was erased. */
export async function redactionsOf(
  { thread }: { thread: Pick<ThreadReader, 'read' | 'ofDecision'> },
  acts: readonly StoredAct[],
): Promise<StoredAct[]> {
  const open = new Set(acts.flatMap(({ record_id, payload }) => (payload === null ? [record_id] : [])))
  if (open.size === 0) return []
  const entries = await thread.ofDecision(redactionSubject, mostRedactions)
  const found: StoredAct[] = []
  // Late copies are erased right after the rest, so the newest come first.
  for (let end = entries.length; end > 0 && open.size > 0; end -= redactionsAtOnce) {
    const record_ids = entries.slice(Math.max(0, end - redactionsAtOnce), end).map(({ record_id }) => record_id)
    for (const act of await thread.read({ record_ids })) {
      const { record_ids: erased = [] } = JSON.parse(act.payload ?? '{}') as { record_ids?: string[] }
      const names = erased.filter((id) => open.delete(id))
      if (names.length > 0 && !acts.some(({ record_id }) => record_id === act.record_id)) found.push(act)
    }
  }
  return found
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

// Publishes the thread: its checkpoints, without witnesses the latest one, and the log as files.

/** How long readers without credentials share one read of the log, so that they can't make it sign for each of them. */
const sharedLook_ms = 1_000

/** The thread as a publisher needs it. */
export type PublishedThread = Pick<Thread, 'sequence' | 'checkpoints'>

/** A checkpoint that covers at least `size` entries; a new one only if necessary. */
export async function checkpointOver({ checkpoints }: PublishedThread, size: number) {
  const last = await checkpoints.latest(Number.MAX_SAFE_INTEGER)
  return last.size >= size ? last : checkpoints.latest()
}

/** Publishes checkpoints that only the log signed. @param now milliseconds since 1970 */
export function publishAlone(thread: PublishedThread, now: () => number): Publisher {
  let looked_ms = Number.NEGATIVE_INFINITY
  return {
    covering: (size) => checkpointOver(thread, size),
    async shown() {
      if (now() - looked_ms > sharedLook_ms) {
        looked_ms = now()
        await thread.sequence()
      }
      return thread.checkpoints.latest(sharedLook_ms)
    },
    close: async () => {},
  }
}

/** The log as files, by their paths below its prefix. */
export interface StaticLog {
  /** C2SP verifier key. */
  verifier_key: string
  /** The signed note of the checkpoint that is published. */
  checkpoint(): Promise<string>
  /** A tile or a bundle of entries, `tile/…`; null if the signed log has none. @throws StorageError `corrupt` */
  tile(path: string): Promise<Uint8Array<ArrayBuffer> | null>
}

export const staticLog = (
  log: LogHashes,
  { signer, checkpoints }: Pick<Thread, 'signer' | 'checkpoints'>,
  publisher: Publisher,
): StaticLog => ({
  verifier_key: signer.verifier_key,
  checkpoint: async () => (await publisher.shown()).note,
  async tile(path) {
    const tile = parseTilePath(path)
    if (tile === null) return null
    // Another server on the same store may have signed a larger checkpoint.
    for (const max_age_ms of [Number.MAX_SAFE_INTEGER, sharedLook_ms])
      if (isCovered(tile, (await checkpoints.latest(max_age_ms)).size)) return tileBytes(log, tile)
    return null
  },
})
