/** Publishes checkpoints of the thread: sends each to the witnesses of a policy, and keeps those that a quorum cosigned. */
import type { StoredCheckpoint } from '../../sdk/storage/ledger.ts'
import { sharedRun } from '../../sdk/storage/shared-run.ts'
import type { ThreadReader } from '../../sdk/storage/thread.ts'
import { startPeriodicJob } from '../core/periodic-job.ts'
import { proveConsistency } from '../domain/ledger/engine/proof.ts'
import type { Published, Publisher } from '../domain/ledger/thread/receipts.ts'
import { checkpointOver, type PublishedThread } from '../domain/ledger/thread/receipts.ts'
import { NoteFormError, readNote, signedBy } from '../verify/note.ts'
import type { Policy } from '../verify/policy.ts'
import { NotCosigned, type WitnessClient, witnessClient } from './witness-client.ts'

/** How often the checkpoint of a growing log is sent to its witnesses. */
const every_ms = 10_000
/** How long an answer with a receipt waits for the witnesses. */
const wait_ms = 5_000
/** How long no answer waits for the witnesses after they failed to reach a quorum. */
const pause_ms = 60_000

interface PublisherOptions {
  thread: PublishedThread & { signer: { name: string } }
  log: ThreadReader
  /** Witnesses without an address count in the quorum, but get no requests. */
  policy: Pick<Policy, 'witnesses' | 'isQuorum'>
  now(): number
  /** Calls back after that many milliseconds; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
  /** Called with each witness that did not cosign. */
  failed(error: unknown): void
}

/** The witnesses of the policy that cosigned a note. */
function cosignersOf(note: string, { witnesses }: Pick<Policy, 'witnesses'>): Set<string> {
  try {
    const read = readNote(note)
    const signed = witnesses.filter(({ key }) => typeof signedBy(read, key) === 'object')
    return new Set(signed.map(({ name }) => name))
  } catch (error) {
    if (error instanceof NoteFormError) return new Set()
    throw error
  }
}

export function publishWitnessed(options: PublisherOptions): Publisher {
  const { thread, log, policy, now, after, failed } = options
  const prove = async (old_size: number, size: number) =>
    (await proveConsistency(log, old_size, size, await log.head())).hashes
  const clients = policy.witnesses.flatMap((one) =>
    one.url === null ? [] : [witnessClient({ ...one, url: one.url }, prove)],
  )
  const stop = new AbortController()
  /** The latest checkpoint with a quorum; undefined until the stored ones have been read. */
  let cosigned: Published | null | undefined
  let paused_until_ms = Number.NEGATIVE_INFINITY

  /** The latest stored checkpoint with a quorum, from before this start or from another server. */
  async function kept(): Promise<Published | null> {
    const stored = (await log.checkpoints()).toSorted((a, b) => b.size - a.size)
    const found = stored.find(({ note }: StoredCheckpoint) => policy.isQuorum(cosignersOf(note, policy)))
    if (!found) return null
    const { origin, size, root_hash } = readNote(found.note)
    return origin === thread.signer.name ? { size, root_hash, note: found.note } : null
  }

  let restoring: Promise<void> | null = null
  /** Resolves when the stored checkpoints have been read: once for all callers, and never replacing one cosigned since. */
  const restored = (): Promise<void> => {
    if (cosigned !== undefined) return Promise.resolve()
    restoring ??= kept()
      .then((found) => {
        cosigned ??= found
      })
      .finally(() => {
        restoring = null
      })
    return restoring
  }

  const ask = async (witness: WitnessClient, checkpoint: Published): Promise<string> => {
    try {
      return await witness.cosign(checkpoint, stop.signal)
    } catch (error) {
      if (!(error instanceof NotCosigned)) throw error
      if (!stop.signal.aborted) failed(error)
      return ''
    }
  }

  const publish = sharedRun(async (): Promise<void> => {
    await restored()
    await thread.sequence()
    const signed = await thread.checkpoints.latest()
    if (cosigned?.size === signed.size || stop.signal.aborted) return
    const lines = await Promise.all(clients.map((witness) => ask(witness, signed)))
    const note = signed.note + lines.join('')
    if (!policy.isQuorum(cosignersOf(note, policy))) {
      paused_until_ms = now() + pause_ms
      return
    }
    paused_until_ms = Number.NEGATIVE_INFINITY
    const { size, root_hash, head_hash, created_at } = signed
    // Stored separately from those that only the log signed: while no witness answers, the last one with a quorum is kept.
    await log.saveCheckpoint({ size, head_hash, note, created_at, exported: true })
    cosigned = { size, root_hash, note }
  })
  const rounds = startPeriodicJob({ every_ms, after, failed, work: () => publish().then(() => 0) })

  /** Waits up to `wait_ms` for a checkpoint with a quorum. */
  const publishSoon = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const cancel = after(wait_ms, resolve)
      publish()
        .then(resolve, reject)
        .finally(() => cancel())
    })

  return {
    async covering(size) {
      if ((cosigned?.size ?? -1) < size && now() >= paused_until_ms) await publishSoon()
      return cosigned && cosigned.size >= size ? cosigned : checkpointOver(thread, size)
    },
    async shown() {
      await restored()
      return cosigned ?? checkpointOver(thread, 0)
    },
    async close() {
      stop.abort()
      await rounds.close()
    },
  }
}
