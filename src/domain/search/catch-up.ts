/** One generation's index, kept level with the feed. */
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { Search, SearchEntry, SearchGeneration, SearchIndex } from '../../../sdk/storage/search.ts'
import type { Feed, FeedEntry } from '../../../sdk/storage/store.ts'
import type { LogWriter } from '../../core/log.ts'

export interface Followed {
  readonly generation: SearchGeneration
  readonly index: SearchIndex
  /** The newest change that a search sees. */
  applied(): number
  /** Reads all that is new in the feed and applies it. */
  catchUp(): Promise<void>
  close(): Promise<void>
}

export interface CatchUpTools {
  search: Search
  feed: Feed
  log: LogWriter
  /** Resolves after other work of the process had its turn. */
  breathe(): Promise<void>
}

const page = 500
/** Changes after which the index is maintained again. */
const maintainedEvery = 500

/** In a generation that is still building the store has `indexed` as in the active one. */
const entryOf = ({ id, fields, terms, vectors }: FeedEntry): SearchEntry => ({
  id,
  value: fields && { fields: { ...fields, indexed: vectors !== null }, terms, vectors },
})

/** Opens the index of a generation and loads what is new to it. */
export async function followed(tools: CatchUpTools, generation: SearchGeneration): Promise<Followed> {
  const { search, feed, log, breathe } = tools
  const index = await search.open(generation)
  let applied = 0
  let unmaintained = maintainedEvery
  let maintaining: Promise<void> | null = null
  let closed = false

  /** In the background: maintenance of a large index may take minutes, and searches are right without it. */
  function maintainAfter(changes: number): void {
    unmaintained += changes
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
    maintainAfter(entries.length)
  }

  async function catchUp(): Promise<void> {
    const { seq } = await feed.head()
    // Another process may share the index, and have applied more.
    applied = Math.max(applied, await index.watermark())
    while (applied < seq) {
      const entries = await feed.since(applied, generation.number, page)
      if (entries.length > 0) await apply(entries)
      applied = entries.length < page ? Math.max(seq, entries.at(-1)?.seq ?? 0) : entries.at(-1)!.seq
      if (entries.length >= page) await breathe()
    }
  }

  const close = async () => {
    closed = true
    await index.close()
  }
  try {
    await catchUp()
  } catch (error) {
    await close()
    throw error
  }
  maintainAfter(0)
  return { generation, index, applied: () => applied, catchUp, close }
}
