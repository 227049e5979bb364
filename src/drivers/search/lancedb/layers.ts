/**
 * The table and the overlay of one generation over time: changes come in, are written to the table in the background, and a table that
 * another process replaced, or that is damaged, is exchanged under running searches.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { SearchEntry, SearchGeneration } from '../../../../sdk/storage/search.ts'
import { checkEntries, checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
import { messageOf } from '../../../core/log.ts'
import { isNative, refuse } from './library.ts'
import { openOverlay, TermStats } from './overlay.ts'
import type { Lease, Place } from './place.ts'
import { decisionsTable, type StoredState } from './state.ts'
import { type DecisionTable, openTable } from './table.ts'
import { writeChanges } from './writer.ts'

export interface IndexOptions {
  /** This many changes are kept in memory before the first ones are written to the table. */
  max_in_memory: number
  /** From this many vectors on, the table has a vector index. */
  index_from: number
}

/** Once there is a table, changes are written when they are this share of it, but at least a quarter of `max_in_memory`. */
const writtenShare = 0.1
/** `apply` waits for a write once there are so many times `max_in_memory` changes. */
const maxWaiting = 1.5

/** Changes applied again at once, so that other calls have their turn. */
const appliedAtOnce = 250
const renewMs = 20_000

export type Layers = Awaited<ReturnType<typeof openLayers>>

export async function openLayers(
  place: Place,
  generation: SearchGeneration,
  { max_in_memory, index_from }: IndexOptions,
) {
  const { log } = place
  const { dimensions, embedder } = generation
  let overlay = openOverlay(dimensions)
  let table: DecisionTable | null = null
  let applied = 0
  /** How often the table was lost: what was read from the store before that does not continue what is held now. */
  let losses = 0
  let closed = false
  let writing: Promise<void> | null = null
  /** What was applied since the changes were taken that are being written. */
  let unwritten: SearchEntry[] | null = null
  // Changes of the overlay and the table, one after the other. Searches don't wait for them: each works on what it found when it began.
  let changing: Promise<unknown> = Promise.resolve()
  function change<T>(run: () => Promise<T>): Promise<T> {
    const result = changing.then(run)
    changing = result.catch(() => {})
    return result
  }

  /** Replaces the table. @param changes those that it lacks */
  async function adopt(state: StoredState, changes: readonly SearchEntry[]): Promise<void> {
    const next = await openTable(await place.engine(), decisionsTable(generation.number), state)
    const rest = openOverlay(dimensions, state.stats)
    for (let at = 0; at < changes.length; at += appliedAtOnce) {
      const some = changes.slice(at, at + appliedAtOnce)
      rest.apply(some, await next.find(rest.unknown(some.map(({ id }) => id))))
    }
    table?.close()
    table = next
    overlay = rest
    applied = Math.max(applied, state.watermark)
  }

  const adoptOther = (state: StoredState) => adopt(state, state.watermark >= applied ? [] : overlay.changes())

  /** The table can't be read: its decisions are read from the store again. */
  async function lose(error: unknown): Promise<void> {
    log('error', 'The search index is damaged; it is rebuilt from the store', { error: messageOf(error) })
    table?.close()
    table = null
    overlay = openOverlay(dimensions)
    applied = 0
    losses++
    const lease = place.absent() ? null : await place.ownership.lease()
    if (lease === null) return
    await place.clear(generation.number).catch(() => {})
    await lease.release()
  }

  /** After a failed search: true if it should be repeated. */
  async function recover(error: unknown, failed: DecisionTable | null, attempt: number): Promise<boolean> {
    if (closed || failed === null || attempt > 3 || isStorageError(error, 'invalid')) return false
    return change(async () => {
      if (table !== failed) return true
      // Another process may have written a newer version, and removed this one.
      const state = await place.state(generation.number).catch(() => null)
      if (state !== null && state.version !== failed.version) await adoptOther(state)
      else if (attempt > 1 && !place.isLoss(error)) return false
      else if (attempt > 1) await lose(error)
      return true
    })
  }

  /** Repeats what fails because the table was replaced or lost. */
  async function withTable<T>(run: (table: DecisionTable | null) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const used = table
      try {
        return await run(used)
      } catch (error) {
        if (await recover(error, used, attempt)) continue
        if (isNative(error)) refuse(error)
        throw error
      }
    }
  }

  async function writeOnce(lease: Lease, options: { index: boolean; erase: boolean }): Promise<void> {
    const engine = await place.engine()
    const store = await place.ownership.store()
    await change(async () => {
      const state = await place.state(generation.number)
      if (state === null && table !== null) await lose(new Error('The table was removed'))
      else if (state !== null && state.version !== table?.version) await adoptOther(state)
    })
    // What a crashed writer left.
    if (options.erase && table === null) return place.clear(generation.number)
    const changes = overlay.changes()
    const before = table
    if (changes.length === 0 && !options.erase && !before?.unindexed) return
    const [lost, later] = [losses, [] as SearchEntry[]]
    unwritten = later
    const unindexed = (before?.unindexed ?? 0) + changes.length
    const next = { store, embedder, dimensions, watermark: applied, unindexed, stats: new TermStats(overlay.stats) }
    await writeChanges(engine, generation.number, before?.version ?? null, changes, next, {
      ...options,
      place: { url: place.url, storage_options: place.storage_options },
      index_from,
      committed: (state) =>
        change(async () => {
          if (losses === lost) await adopt(state, later)
        }),
      yieldToEventLoop: async () => {
        if (closed || !(await lease.renew())) throw new Error('The write was stopped')
      },
    })
    const { decisions } = next.stats
    log('info', 'Changes were written to the search index', { changes: changes.length, decisions })
  }

  /** Writes all changes to the table, one call at a time. @returns whether that was possible */
  async function write(options: { index: boolean; erase: boolean }): Promise<boolean> {
    const lease = await place.ownership.lease()
    if (lease === null) return false
    const timer = setInterval(() => lease.renew().catch(() => {}), renewMs)
    timer.unref()
    try {
      await writeOnce(lease, options)
      return true
    } finally {
      unwritten = null
      clearInterval(timer)
      await lease.release().catch(() => {})
    }
  }

  function writeInBackground(index: boolean): Promise<void> {
    writing ??= write({ index, erase: false })
      .then(() => {})
      .catch((error) => {
        if (closed) return
        log('warn', 'Changes were not written to the search index; they stay in memory', {
          decisions: overlay.size(),
          error: messageOf(error),
        })
        if (isStorageError(error, 'conflict')) throw error
      })
      .finally(() => {
        writing = null
      })
    return writing
  }

  const isDue = (): boolean => {
    const share = writtenShare * (table?.decisions ?? Number.POSITIVE_INFINITY)
    return overlay.size() >= Math.min(max_in_memory, Math.max(max_in_memory / 4, share))
  }

  if (!place.isEmpty()) {
    const state = await place.state(generation.number).catch((error) => {
      if (place.absent()) log('warn', 'All decisions are searched in memory', { error: messageOf(error) })
      else if (place.isLoss(error)) return lose(error).then(() => null)
      else refuse(error)
      return null
    })
    if (state !== null) {
      checkGeneration({ ...state, number: generation.number }, generation)
      await adoptOther(state).catch(lose)
    }
  }

  return {
    overlay: () => overlay,
    table: () => table,
    /** The newest change that is in the table or the overlay. */
    applied: () => applied,
    withTable,
    async apply(entries: readonly SearchEntry[], watermark: number): Promise<void> {
      checkEntries(entries, dimensions)
      const before = losses
      await withTable(() =>
        change(async () => {
          // The second is sent by a process that is behind.
          if (losses !== before || watermark < applied) return
          overlay.apply(entries, (await table?.find(overlay.unknown(entries.map(({ id }) => id)))) ?? new Map())
          unwritten?.push(...entries)
          applied = Math.max(applied, watermark)
        }),
      )
      if (overlay.size() >= maxWaiting * max_in_memory && !place.absent())
        await writeInBackground(false).catch(() => {})
    },
    /** See {@link SearchIndex.purge}. */
    async purge(): Promise<boolean> {
      await writing?.catch(() => {})
      if (place.isEmpty()) return true
      return write({ index: true, erase: true }).catch((error) => {
        log('warn', 'Erased decisions are still in the search index', { error: messageOf(error) })
        return false
      })
    },
    async maintain(): Promise<void> {
      if (!place.absent() && (isDue() || table?.unindexed)) await writeInBackground(true)
    },
    async close(): Promise<void> {
      closed = true
      await writing?.catch(() => {})
      await changing
      table?.close()
    },
  }
}
