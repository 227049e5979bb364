/**
 * The table and the overlay of one generation over time: changes come in, are written to the table in the background, and a table that
 * another process replaced, or that is damaged, is exchanged under running searches.
 */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { SearchEntry, SearchGeneration } from '../../../../sdk/storage/search.ts'
import { checkEntries, checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
import { messageOf } from '../../../core/log.ts'
import { isNative, refuse } from './library.ts'
import { openOverlay } from './overlay.ts'
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

const renewMs = 20_000

export type Layers = Awaited<ReturnType<typeof openLayers>>

export async function openLayers(
  place: Place,
  generation: SearchGeneration,
  { max_in_memory, index_from }: IndexOptions,
) {
  const { log } = place
  const { dimensions } = generation
  let overlay = openOverlay(dimensions)
  let table: DecisionTable | null = null
  let applied = 0
  /** How often the table was lost: what was read from the store before that does not continue what is held now. */
  let losses = 0
  let closed = false
  let writing: Promise<void> | null = null
  // Changes of the overlay and the table, one after the other. Searches don't wait for them: each works on what it found when it began.
  let changing: Promise<unknown> = Promise.resolve()
  function change<T>(run: () => Promise<T>): Promise<T> {
    const result = changing.then(run)
    changing = result.catch(() => {})
    return result
  }

  const stored = (): StoredState | null => table?.state ?? null
  const open = async (state: StoredState): Promise<DecisionTable> =>
    openTable(await place.engine(), decisionsTable(generation.number), state)

  /** Replaces the table, and keeps the changes that it lacks. */
  async function adopt(state: StoredState | null): Promise<void> {
    const next = state && (await open(state))
    const newer = state !== null && state.watermark >= applied ? [] : overlay.changes()
    const before = table
    const rest = openOverlay(dimensions)
    rest.apply(newer, (await next?.find(newer.map(({ id }) => id))) ?? new Map())
    table = next
    overlay = rest
    applied = Math.max(applied, state?.watermark ?? 0)
    before?.close()
  }

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
      if (state !== null && state.version !== failed.state.version) {
        await adopt(state)
        return true
      }
      if (attempt < 2) return true
      if (!place.absent() && !place.isLoss(error)) return false
      await lose(error)
      return true
    })
  }

  /** Repeats what fails because the table was replaced or lost. @param run notes the table that it uses */
  async function withTable<T>(run: (used: { table: DecisionTable | null }) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const used = { table }
      try {
        return await run(used)
      } catch (error) {
        if (await recover(error, used.table, attempt)) continue
        if (isNative(error)) refuse(error)
        throw error
      }
    }
  }

  async function writeOnce(lease: Lease, options: { index: boolean; erase: boolean }): Promise<void> {
    const engine = await place.engine()
    await change(async () => {
      const state = await place.state(generation.number)
      if (state === null && table !== null) return lose(new Error('The table was removed'))
      if (state?.version !== stored()?.version) await adopt(state)
    })
    // What a crashed writer left.
    if (options.erase && stored() === null) return place.clear(generation.number)
    const [changes, through] = [overlay.changes(), applied]
    if (changes.length === 0 && !options.erase && stored()?.unindexed === 0) return
    const state = await writeChanges(engine, generation, stored(), changes, {
      ...options,
      index_from,
      store: await place.ownership.store(),
      watermark: through,
      yieldToEventLoop: async () => {
        if (closed || !(await lease.renew())) throw new Error('The write was stopped')
      },
    })
    const next = await open(state)
    await change(async () => {
      table?.close()
      table = next
      overlay = overlay.after(changes)
    })
    log('info', 'Changes were written to the search index', {
      changes: changes.length,
      decisions: state.stats.decisions,
    })
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
      clearInterval(timer)
      await lease.release().catch(() => {})
    }
  }

  let outgrown = false
  function writeInBackground(index: boolean): Promise<void> {
    writing ??= write({ index, erase: false })
      .catch((error) => {
        if (closed || (place.absent() && outgrown)) return
        outgrown ||= place.absent()
        const decisions = overlay.size()
        log('warn', 'Changes were not written to the search index; they stay in memory', {
          decisions,
          error: messageOf(error),
        })
        if (isStorageError(error, 'conflict')) throw error
      })
      .then(() => {})
      .finally(() => {
        writing = null
      })
    return writing
  }

  const isDue = (): boolean => {
    const share = writtenShare * (stored()?.stats.decisions ?? Number.POSITIVE_INFINITY)
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
      await adopt(state).catch(lose)
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
      await withTable((used) =>
        change(async () => {
          // The second is sent by a process that is behind.
          if (losses !== before || watermark < applied) return
          used.table = table
          const unknown = overlay.unknown(entries.map(({ id }) => id))
          const found = table === null ? new Map() : await table.find(unknown)
          overlay.apply(entries, found)
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
      if (place.absent()) return
      if (isDue() || (stored()?.unindexed ?? 0) > 0) await writeInBackground(true)
    },
    async close(): Promise<void> {
      closed = true
      await writing?.catch(() => {})
      await changing
      table?.close()
    },
  }
}
