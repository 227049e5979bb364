/** Computes the vectors that a record could not wait for: durable, retried with growing pauses, each entry by one server at a time. */
import { readDecision } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { type OutboxValue, outboxCollection } from '../../../sdk/storage/keyed.ts'
import type { Store, Transaction } from '../../../sdk/storage/store.ts'
import { messageOf } from '../../core/log.ts'
import { type PeriodicJob, startPeriodicJob } from '../../core/periodic-job.ts'
import { embedDecision } from './embeddings.ts'

interface OutboxOptions {
  store: Store
  embedder: Embedder
  now(): number
  /** Calls back after `ms` milliseconds; returns a function that cancels this. */
  after(ms: number, run: () => void): () => void
  /** Called after each failed attempt. */
  failed(id: string, attempts: number, error: unknown): void
}

const batch = 16
const lease_ms = 60_000
const round_ms = 1_000
/** 1 s, 2 s, 4 s … at most 5 min. */
const pause = (attempts: number): number => Math.min(1_000 * 2 ** Math.min(attempts, 20), 300_000)

/** A decision whose vectors this server computes until its lease ends. */
interface Claimed {
  id: string
  /** Attempts before this one. */
  attempts: number
}

/** Claims due entries with a lease. If this server dies, they are due again when the lease ends. */
async function claim({ keyed }: Transaction, now_ms: number): Promise<Claimed[]> {
  const due = await keyed.expire(outboxCollection, now_ms, batch)
  return Promise.all(
    due.map(async ({ key: id, value }) => {
      const { attempts, error } = value as OutboxValue
      const begun: OutboxValue = { attempts: attempts + 1, error }
      await keyed.put(outboxCollection, id, begun, { expires_ms: now_ms + lease_ms })
      return { id, attempts }
    }),
  )
}

/** Postpones the entry, unless another server has claimed it or its text changed. */
async function postpone({ keyed }: Transaction, { id, attempts }: Claimed, error: string, due_ms: number) {
  const [stored] = await keyed.get(outboxCollection, [id])
  const value = stored?.value as OutboxValue | undefined
  if (value?.attempts === attempts + 1)
    await keyed.put(outboxCollection, id, { ...value, error } satisfies OutboxValue, { expires_ms: due_ms })
}

/** Each round works on due entries, and returns how many decisions got their vectors. */
export function startOutbox({ store, embedder, now, after, failed }: OutboxOptions): PeriodicJob {
  const one = async (entry: Claimed, stop: AbortSignal): Promise<boolean> => {
    const { id, attempts } = entry
    try {
      const before = await readDecision(store.decisions, id)
      const made = before && (await embedDecision(embedder, before.record, stop))
      return await store.transaction(async (tx) => {
        const current = await readDecision(tx.decisions, id)
        // The text changed in the meantime: the entry is left for another round.
        if (current && current.revision !== before?.revision)
          return postpone(tx, entry, 'changed meanwhile', now()).then(() => false)
        if (current && made) await tx.embeddings.put(id, { embedder: embedder.id, vectors: made.vectors })
        await tx.keyed.delete(outboxCollection, [id])
        return Boolean(current)
      })
    } catch (error) {
      if (stop.aborted) return false
      failed(id, attempts, error)
      await store.transaction((tx) => postpone(tx, entry, messageOf(error), now() + pause(attempts)))
      return false
    }
  }

  const work = async (stop: AbortSignal): Promise<number> => {
    let made = 0
    while (!stop.aborted) {
      // Nearly always nothing waits, and then nothing must be written.
      const waits = (await store.keyed.list(outboxCollection, { limit: 1 })).length > 0
      const entries = waits ? await store.transaction((tx) => claim(tx, now())) : []
      if (entries.length === 0) break
      // Sequentially, as requests that wait for their own vectors come first.
      for (const entry of entries) if (await one(entry, stop)) made++
    }
    return made
  }

  return startPeriodicJob({
    every_ms: round_ms,
    after,
    work,
    failed(error) {
      if (!isStorageError(error, 'unavailable')) failed('', 0, error)
    },
  })
}
