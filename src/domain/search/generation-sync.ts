/** The index of one generation, and how the store's feed is applied to it. */
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { Search, SearchEntry, SearchGeneration, SearchIndex } from '../../../sdk/storage/search.ts'
import type { Feed, FeedEntry } from '../../../sdk/storage/store.ts'
import type { LogWriter } from '../../core/log.ts'

export interface GenerationSync {
  readonly generation: SearchGeneration
  readonly index: SearchIndex
  /** The newest change that a search sees. */
  applied(): number
  /** Whether the index lacks changes up to this one. */
  isBehind(seq: number): Promise<boolean>
  /** Whether the index has lost a part since it was last checked: an answer may then be incomplete. */
  hasLost(): Promise<boolean>
  /** Reads new changes from the feed and applies them. @param newest the newest change, if it was just read */
  catchUp(newest?: number): Promise<void>
  /** Ends a read of changes that is in progress. */
  stop(): void
  close(): Promise<void>
}

export interface GenerationTools {
  search: Search
  feed: Feed
  log: LogWriter
  /** Resolves when other work of the process has had its turn. */
  yieldToEventLoop(): Promise<void>
}

const page = 500
/** Changes after which the index is maintained again. */
const maintainedEvery = 500

/** `indexed` is computed from the vectors: for a generation that is still building, the store returns that of the active one. */
export const entryOf = ({ id, fields, terms, vectors }: FeedEntry): SearchEntry => ({
  id,
  value: fields && { fields: { ...fields, indexed: vectors !== null }, terms, vectors },
})

/** Opens the index of a generation; it lacks what has changed since it was last open. */
export async function openGeneration(tools: GenerationTools, generation: SearchGeneration): Promise<GenerationSync> {
  const { search, feed, log, yieldToEventLoop } = tools
  const index = await search.open(generation)
  let applied = await index.watermark()
  /** The watermark of the index when it was last read. */
  let known = applied
  let unmaintained = maintainedEvery
  let maintaining: Promise<void> | null = null
  let closed = false

  /** Runs in the background: maintenance of a large index may take minutes, and searches are correct without it. */
  function maintain(): void {
    if (maintaining !== null || closed || unmaintained < maintainedEvery) return
    unmaintained = 0
    maintaining = index
      .maintain()
      .catch((error) => {
        // A close interrupts maintenance.
        if (!closed) log('warn', 'The search index could not be maintained', { error: String(error) })
      })
      .finally(() => {
        maintaining = null
      })
  }

  /** If one vector is refused, all other entries are applied: a bad row must not stop every search. */
  async function apply(entries: readonly FeedEntry[]): Promise<void> {
    try {
      await index.apply(entries.map(entryOf), entries.at(-1)!.seq)
    } catch (error) {
      if (!isStorageError(error, 'invalid')) throw error
      for (const entry of entries) {
        await index.apply([entryOf(entry)], entry.seq).catch((refusal) => {
          if (!isStorageError(refusal, 'invalid')) throw refusal
          log('error', 'The vectors of a decision are damaged; reindex to find it by meaning', {
            decision_id: entry.id,
            error: refusal.message,
          })
          return index.apply([entryOf({ ...entry, vectors: null })], entry.seq)
        })
      }
    }
    unmaintained += entries.length
  }

  /** Reads the watermark: another process may have applied more to a shared index, and changes that the index lost are read again. */
  async function readWatermark(): Promise<void> {
    const watermark = await index.watermark()
    applied = watermark < known ? watermark : Math.max(applied, watermark)
    known = watermark
  }

  maintain()
  return {
    generation,
    index,
    applied: () => applied,
    async isBehind(seq) {
      await readWatermark()
      return applied < seq
    },
    hasLost: async () => (await index.watermark()) < known,
    async catchUp(newest) {
      const seq = newest ?? (await feed.head()).seq
      await readWatermark()
      // Decisions that change during the read move past `seq`, so a full page is always followed by another read.
      for (let isFull = false; (applied < seq || isFull) && !closed; ) {
        const from = applied
        const entries = await feed.since(from, generation.number, page)
        await readWatermark()
        // The index has lost a part, which is read again.
        if (applied < from) continue
        if (entries.length > 0) await apply(entries)
        applied = entries.length < page ? Math.max(seq, entries.at(-1)?.seq ?? 0) : entries.at(-1)!.seq
        isFull = entries.length >= page
        if (isFull) await yieldToEventLoop()
        await readWatermark()
      }
      maintain()
    },
    stop() {
      closed = true
    },
    async close() {
      closed = true
      await index.close()
    },
  }
}
