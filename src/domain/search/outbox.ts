/** Makes the vectors that a record could not wait for: durable, retried with growing pauses, each entry once over all servers. */
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { OutboxEntry, Store } from '../../../sdk/storage/store.ts'
import { messageOf } from '../../core/log.ts'
import { type Rounds, startRounds } from '../../core/rounds.ts'
import { embedDecision, putVectors } from './embeddings.ts'

interface OutboxOptions {
  store: Store
  embedder: Embedder
  now(): number
  /** Calls back after so many milliseconds; returns the cancellation. */
  after(ms: number, run: () => void): () => void
  /** Called after each failed try. */
  failed(id: string, attempts: number, error: unknown): void
}

const batch = 16
const lease_ms = 60_000
const round_ms = 1_000
/** 1 s, 2 s, 4 s … at most 5 min. */
const pause = (attempts: number): number => Math.min(1_000 * 2 ** Math.min(attempts, 20), 300_000)

/** A round works on what is due; it tells how many decisions got their vectors. */
export function startOutbox({ store, embedder, now, after, failed }: OutboxOptions): Rounds {
  const one = async (entry: OutboxEntry, stop: AbortSignal): Promise<boolean> => {
    try {
      const before = await store.decisions.get(entry.id)
      const made = before && (await embedDecision(embedder, before.record, stop))
      return await store.transaction(async (tx) => {
        const current = await tx.decisions.get(entry.id)
        // The text changed meanwhile: leave the entry, it comes round again.
        if (current && current.revision !== before?.revision)
          return tx.outbox.finish(entry, { due_ms: now(), error: 'changed meanwhile' }).then(() => false)
        if (current) await putVectors(tx, embedder, entry.id, made?.vectors ?? null)
        await tx.outbox.finish(entry)
        return Boolean(current)
      })
    } catch (error) {
      if (stop.aborted) return false
      failed(entry.id, entry.attempts, error)
      const message = messageOf(error)
      await store.transaction((tx) =>
        tx.outbox.finish(entry, { due_ms: now() + pause(entry.attempts), error: message }),
      )
      return false
    }
  }

  const work = async (stop: AbortSignal): Promise<number> => {
    let made = 0
    while (!stop.aborted) {
      const entries =
        (await store.outbox.depth()) === 0
          ? []
          : await store.transaction((tx) => tx.outbox.claim(batch, lease_ms, now()))
      if (entries.length === 0) break
      // One after the other: requests that wait for their own vectors come first.
      for (const entry of entries) if (await one(entry, stop)) made++
    }
    return made
  }

  return startRounds({
    every_ms: round_ms,
    after,
    work,
    failed(error) {
      if (!isStorageError(error, 'unavailable')) failed('', 0, error)
    },
  })
}
