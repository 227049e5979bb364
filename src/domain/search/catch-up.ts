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
  /** Whether the index lacks changes up to this one. */
  isBehind(seq: number): Promise<boolean>
  /** Whether the index lost a part since it was looked at: an answer may lack what that held. */
  hasLost(): Promise<boolean>
  /** Reads all that is new in the feed and applies it. @param newest the newest change, where it was just asked for */
  catchUp(newest?: number): Promise<void>
  /** Whether so much is read that searches go on without it. */
  filling(): boolean
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

/** Opens the index of a generation and loads what is new to it. @param beside_from more changes are read beside the searches */
export async function followed(
  tools: CatchUpTools,
  generation: SearchGeneration,
  beside_from: number,
): Promise<Followed> {
  const { search, feed, log, breathe } = tools
  const index = await search.open(generation)
  let applied = 0
  /** The watermark of the index when it was last asked. */
  let known = 0
  let filling: Promise<void> | null = null
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

  /** Another process may share the index, and have applied more; and what the index lost is read again. */
  async function look(): Promise<void> {
    const watermark = await index.watermark()
    applied = watermark < known ? watermark : Math.max(applied, watermark)
    known = watermark
  }

  /** Takes what is new up to `seq`, or the next changes if these are too many. A full page may have moved some behind it. */
  async function fill(seq: number, most = Number.POSITIVE_INFINITY): Promise<void> {
    let isFull = false
    for (let taken = 0; (applied < seq || isFull) && taken < most && !closed; ) {
      const entries = await feed.since(applied, generation.number, page)
      if (entries.length > 0) await apply(entries)
      taken += entries.length
      applied = entries.length < page ? Math.max(seq, entries.at(-1)?.seq ?? 0) : entries.at(-1)!.seq
      isFull = entries.length >= page
      if (isFull) await breathe()
      await look()
    }
  }

  async function catchUp(newest?: number): Promise<void> {
    if (filling !== null) return
    const seq = newest ?? (await feed.head()).seq
    await look()
    // Numbers of changes are far apart in some stores: how many there are shows when they are read.
    await fill(seq, beside_from)
    if (applied >= seq || closed) return
    log('warn', 'The search index is filled from the store; until then answers may lack decisions', {
      applied,
      newest: seq,
    })
    filling = fill(seq)
      .catch((error) =>
        log('warn', 'The search index could not be filled; it is tried again', { error: String(error) }),
      )
      .finally(() => {
        filling = null
      })
  }

  const close = async () => {
    closed = true
    await filling
    await index.close()
  }
  try {
    await catchUp()
  } catch (error) {
    await close()
    throw error
  }
  maintainAfter(0)
  return {
    generation,
    index,
    applied: () => applied,
    async isBehind(seq) {
      await look()
      return applied < seq
    },
    hasLost: async () => (await index.watermark()) < known,
    catchUp,
    filling: () => filling !== null,
    close,
  }
}
