/** The index of one generation, kept up to date with the feed. */
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
  /** Whether the index has lost a part since it was last checked: an answer may then be incomplete. */
  hasLost(): Promise<boolean>
  /** Reads new changes from the feed and applies them. @param newest the newest change, if it was just read */
  catchUp(newest?: number): Promise<void>
  /** Whether so many changes are being read that searches do not wait for them. */
  filling(): boolean
  close(): Promise<void>
}

export interface CatchUpTools {
  search: Search
  feed: Feed
  log: LogWriter
  /** Resolves when other work of the process has had its turn. */
  breathe(): Promise<void>
  /** If the index lacks more changes than this, it takes the rest in one piece if it can: less work, but visible only at the end. */
  piece_from: number
}

const page = 500
/** Changes after which the index is maintained again. */
const maintainedEvery = 500

/** `indexed` is computed from the vectors: for a generation that is still building, the store returns that of the active one. */
const entryOf = ({ id, fields, terms, vectors }: FeedEntry): SearchEntry => ({
  id,
  value: fields && { fields: { ...fields, indexed: vectors !== null }, terms, vectors },
})

/** Opens the index of a generation and loads new changes. @param beside_from if more are missing, searches do not wait for them */
export async function followed(
  tools: CatchUpTools,
  generation: SearchGeneration,
  beside_from: number,
): Promise<Followed> {
  const { search, feed, log, breathe, piece_from } = tools
  const index = await search.open(generation)
  let applied = 0
  /** The watermark of the index when it was last read. */
  let known = 0
  let filling: Promise<void> | null = null
  let unmaintained = maintainedEvery
  let maintaining: Promise<void> | null = null
  let closed = false

  /** Runs in the background: maintenance of a large index may take minutes, and searches are correct without it. */
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

  /** Reads the watermark: another process may have applied more to a shared index, and changes that the index lost are read again. */
  async function look(): Promise<void> {
    const watermark = await index.watermark()
    applied = watermark < known ? watermark : Math.max(applied, watermark)
    known = watermark
  }

  /**
   * Applies new changes up to `seq`, or the next `most` if there are more. Decisions that change during the read move past `seq`, so a full
   * page is always followed by another read.
   * @param isFull whether the page before was full
   * @returns whether the last page was full
   */
  async function fill(seq: number, most = Number.POSITIVE_INFINITY, isFull = false): Promise<boolean> {
    for (let taken = 0; (applied < seq || isFull) && taken < most && !closed; ) {
      const entries = await feed.since(applied, generation.number, page)
      if (entries.length > 0) await apply(entries)
      taken += entries.length
      applied = entries.length < page ? Math.max(seq, entries.at(-1)?.seq ?? 0) : entries.at(-1)!.seq
      isFull = entries.length >= page
      if (isFull) await breathe()
      await look()
    }
    return isFull
  }

  /** All changes up to `seq` that the index lacks. @param taken called with the number of changes in each page */
  async function* pagesUpTo(seq: number, taken: (count: number) => void): AsyncGenerator<SearchEntry[]> {
    for (let after = applied; ; ) {
      const entries = await feed.since(after, generation.number, page)
      if (closed) throw new Error('The index is closed')
      // Changes newer than `seq` replaced older ones during the read, and are applied afterwards.
      const due = entries.filter((entry) => entry.seq <= seq)
      taken(due.length)
      if (due.length > 0) yield due.map(entryOf)
      if (due.length < page) return
      after = due.at(-1)!.seq
      await breathe()
    }
  }

  /** Applies the rest up to `seq`, in one piece if the index can. @param many called if so many are missing that searches should not wait */
  async function fillWhole(seq: number, many: () => void): Promise<void> {
    let left = beside_from - piece_from
    const taken = (count: number) => {
      left -= count
      if (left < 0) many()
    }
    const isTaken = await index.fill?.(pagesUpTo(seq, taken), seq).catch((error) => {
      // The changes are then applied one by one, so that only the invalid one is missing.
      if (!isStorageError(error, 'invalid')) throw error
      return false
    })
    await look()
    const isFull = isTaken === true || (await fill(seq, Math.max(0, left)))
    if (applied < seq) many()
    await fill(seq, Number.POSITIVE_INFINITY, isFull)
  }

  async function catchUp(newest?: number): Promise<void> {
    if (filling !== null) return
    const seq = newest ?? (await feed.head()).seq
    await look()
    // Numbers of changes have large gaps in some stores, so their count is known only after they are read.
    const isFull = await fill(seq, Math.min(piece_from, beside_from))
    if (applied >= seq) await fill(seq, Number.POSITIVE_INFINITY, isFull)
    if (applied >= seq || closed) return
    const many = Promise.withResolvers<void>()
    let failure: unknown
    const ended = fillWhole(seq, many.resolve)
      .catch((error) => {
        failure = error
        if (!closed) log('warn', 'The search index could not be filled; it is tried again', { error: String(error) })
      })
      .finally(() => {
        filling = null
      })
    filling = ended
    await Promise.race([ended, many.promise])
    if (filling === null) {
      if (failure !== undefined) throw failure
      return
    }
    log('warn', 'The search index is filled from the store; until then answers may lack decisions', {
      applied,
      newest: seq,
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
