/**
 * Gives acts their places in the thread, in groups, a moment after they were committed, and appends the records of the evidence log to it.
 * One process at a time does so, so that there is only one order.
 */

import { createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'
import type { LedgerHead } from '../../../../sdk/storage/ledger.ts'
import { sharedRun } from '../../../../sdk/storage/shared-run.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import { startPeriodicJob } from '../../../core/periodic-job.ts'
import { timestamp } from '../../../core/time.ts'
import { evidenceCursor, evidenceId } from '../../record/act-ids.ts'
import { type Checkpoints, createCheckpoints } from '../engine/checkpoints.ts'
import { type Signer, signerOf } from '../engine/note.ts'
import { grow } from '../engine/tree.ts'
import { type Act, type ActTools, actOf } from './acts.ts'

/** The thread as a program uses it. */
export interface Thread {
  /** Signs the thread's checkpoints, under a separate origin. */
  signer: Signer
  checkpoints: Checkpoints
  /** Resolves when all acts that were committed before the call have their places. */
  sequence(): Promise<void>
  /** Reports that acts were committed: they get their places soon. */
  wake(): void
  /**
   * Makes a write that its caller does not wait for: before acts next get their places, together with others; at once after the end.
   * @param write must not reject
   */
  later(write: () => Promise<void>): void
  /** Starts the writes that wait. Resolves when all are made. */
  settled(): Promise<void>
  /** Gives waiting acts their places, and stops. */
  close(): Promise<void>
}

export interface ThreadOptions extends ActTools {
  store: Store
  evidence: Pick<Evidence, 'head' | 'read'>
  signer: Signer
  /** Calls back after `ms` milliseconds; returns a function that cancels this. */
  after(ms: number, run: () => void): () => void
  /** Called with the error of a round. */
  failed(error: unknown): void
}

/** Most acts in one group, as computing their hashes blocks the event loop. */
const largestGroup = 1_024
const evidenceAtOnce = 256
/** How long acts wait for others to join their group: longer if several servers do the same. */
const gathering_ms = { least: 50, most: 400 }
/** How often the thread is checked for acts of other processes, including crashed ones. */
const round_ms = 1_000

const closing_ms = 2_000

/** A record of the evidence log as an act, which holds the hash of the record instead of its payload. */
function evidenceAct({ seq, hash, source, event_type, evidence_class, ts }: EvidenceRecord, at: string): Act {
  const detail = { seq, hash, source, event_type, evidence_class, ts }
  return { kind: 'evidence', record_id: evidenceId(seq), decision_id: null, at, agent: null, detail }
}

export function openThread({ store, evidence, signer, after, failed, ...tools }: ThreadOptions): Thread {
  const { collection, key } = evidenceCursor
  let anchored: number | null = null
  let wait_ms = gathering_ms.least
  /** The end of the thread when this process last gave places. */
  let end: number | null = null

  function growth({ seq, frontier }: LedgerHead, commitments: readonly string[]) {
    // If other processes do the same, all wait longer, so that together they are about as busy as one.
    const isShared = end !== null && seq !== end
    wait_ms = isShared ? Math.min(2 * wait_ms, gathering_ms.most) : gathering_ms.least
    end = seq + commitments.length
    return grow(frontier, seq, commitments)
  }

  async function cursor(keyed: Pick<Store['keyed'], 'get'>): Promise<number> {
    const [found] = await keyed.get(collection, [key])
    return (found?.value as number | undefined) ?? 0
  }

  /** Appends the records of the evidence log that are not in the thread yet. */
  async function anchorEvidence(): Promise<void> {
    const { seq: end } = await evidence.head()
    anchored ??= await cursor(store.keyed)
    while (anchored < end) {
      const from: number = anchored
      const records = await evidence.read(from + 1, evidenceAtOnce)
      const last = records.at(-1)
      if (last === undefined) return
      const at = timestamp(tools.now())
      const acts = records.map((record) => actOf(evidenceAct(record, at), tools))
      anchored = await store.transaction(async (tx) => {
        const now = await cursor(tx.keyed)
        // Another process came first.
        if (now !== from) return now
        await tx.append({ acts })
        await tx.keyed.put(collection, key, last.seq)
        return last.seq
      })
    }
  }

  let late: (() => Promise<void>)[] = []
  let writing: Promise<void> = Promise.resolve()
  const settled = (): Promise<void> => {
    if (late.length > 0) {
      // All at once, so that they share a commit.
      const made = late.map((write) => write())
      late = []
      writing = Promise.all([writing, ...made]).then(() => {})
    }
    return writing
  }

  const sequence = sharedRun(async () => {
    await settled()
    await anchorEvidence()
    while ((await store.thread.sequence(growth, largestGroup)) === largestGroup) {}
  })
  const rounds = startPeriodicJob({ every_ms: round_ms, after, failed, work: () => sequence().then(() => 0) })
  let [woken, closed] = [false, false]
  const wake = (): void => {
    if (woken) return
    woken = true
    after(wait_ms, () => {
      woken = false
      rounds.wake()
    })
  }
  return {
    signer,
    checkpoints: createCheckpoints({ evidence: store.thread, signer, now: tools.now, what: 'the ledger' }),
    sequence,
    wake,
    later(write) {
      late.push(write)
      // After the last round nobody else would make it.
      if (closed) void settled()
      else wake()
    },
    settled,
    async close() {
      closed = true
      await rounds.close()
      // An unavailable database must not keep the program from ending: waiting acts get their places at the next start.
      await new Promise<void>((resolve) => {
        const cancel = after(closing_ms, resolve)
        sequence()
          .catch(failed)
          .finally(() => {
            cancel()
            resolve()
          })
      })
    },
  }
}

/** Resolves when the acts of this call have their places. @throws StorageError marked `outcomeUnknown`, since the acts are stored all the same */
export async function placed(thread: Pick<Thread, 'sequence'>): Promise<void> {
  try {
    await thread.sequence()
  } catch (cause) {
    throw new StorageError('unavailable', 'stored, but without a place in the ledger yet', {
      cause,
      outcomeUnknown: true,
    })
  }
}

// The key of the thread, derived from that of the evidence log: there is only one key file, but each origin has its own key.

/** An Ed25519 private key in PKCS#8 is this prefix, followed by the 32 bytes of its seed. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const seedLength = 32

/**
 * Signs the thread's checkpoints: seed = HKDF-SHA256(seed of the evidence key, no salt, "cstp/thread/v1").
 * @param origin of the evidence log
 * @param key private Ed25519 key of the evidence log
 * @see RFC 5869
 */
export function threadSigner(origin: string, key: KeyObject): Signer {
  const seed = key.export({ type: 'pkcs8', format: 'der' }).subarray(-seedLength)
  const derived = Buffer.from(hkdfSync('sha256', seed, Buffer.alloc(0), 'cstp/thread/v1', seedLength))
  const own = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, derived]), format: 'der', type: 'pkcs8' })
  return signerOf(`${origin}/thread`, own)
}
