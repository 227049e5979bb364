/** Removes lines of the audit trail after the days that the operator sets, a batch at a time, each with a line that says so. */
import type { Store } from '../../sdk/storage/store.ts'
import { dayMs } from '../core/time.ts'
import { linkMethod } from '../domain/evidence/content.ts'

/** Lines in a batch: few enough that no other write waits for long. */
const batch = 1_000
const round_ms = 3_600_000

export interface Retention {
  /** Removes all that is over. @returns how many lines */
  sweep(): Promise<number>
  close(): Promise<void>
}

export function startRetention(options: {
  store: Store
  days: number
  now(): number
  /** Calls back after so many milliseconds; returns the cancellation. */
  after(ms: number, run: () => void): () => void
  failed(error: unknown): void
}): Retention {
  const { store, days, now, after, failed } = options
  let closed = false
  let cancel = () => {}
  let working: Promise<number> | null = null

  const work = async (): Promise<number> => {
    const before_ms = now() - days * dayMs
    // The digests of what evidence was linked to are kept: they are proof.
    const keep = [linkMethod]
    let removed = 0
    for (let more = true; more && !closed; ) {
      const count = await store.transaction((tx) => tx.audit.expire({ before_ms, keep, limit: batch }))
      removed += count
      more = count === batch
    }
    return removed
  }
  const sweep = (): Promise<number> => {
    working ??= work().finally(() => {
      working = null
    })
    return working
  }
  const schedule = (ms: number): void => {
    if (closed) return
    cancel = after(ms, () => {
      sweep()
        .catch(failed)
        .finally(() => schedule(round_ms))
    })
  }
  schedule(0)
  return {
    sweep,
    async close() {
      closed = true
      cancel()
      await working?.catch(() => {})
    },
  }
}
