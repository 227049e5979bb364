/**
 * The vector index of a server, always level with the store: whatever was committed before a search began, in any process, is seen
 * by it. Vectors drivers know nothing of the store; this feeds them from its feed, and changes generations when a reindex is done.
 */

import { StorageError } from '../../../sdk/storage/errors.ts'
import { sharedRun } from '../../../sdk/storage/shared-run.ts'
import type { Generation, Store } from '../../../sdk/storage/store.ts'
import type { VectorHit, VectorIndex, Vectors } from '../../../sdk/storage/vectors.ts'
import type { LogWriter } from '../../core/log.ts'
import { catchUp, type Followed, followDirectly, followWithTail, type Searchable } from './follower-modes.ts'

interface FollowerOptions {
  store: Pick<Store, 'feed' | 'embeddings'>
  vectors: Vectors
  /** Resident driver for what `vectors` has not taken yet, needed if that is not immediate. Runs its calls in their order. */
  tail?: Vectors
  log: LogWriter
  /** Calls `work` every `ms` milliseconds until the function returned is called. */
  every(ms: number, work: () => void): () => void
  /** Resolves after other work of the process had its turn. */
  breathe(): Promise<void>
}

/** With `embedder`, the search is refused if the index holds another embedder's vectors. */
type Query<Verb extends 'nearest' | 'distances'> = Parameters<VectorIndex[Verb]>[0] & { embedder?: string }

export interface Follower {
  /** Brings the index level with the store. Searches do it themselves. */
  sync(): Promise<void>
  /**
   * As {@link VectorIndex.nearest}; empty before the first generation. A vector longer than the generation's is cut: the rest is padding.
   * @throws StorageError `invalid` for a vector of another embedder or length
   */
  nearest(query: Query<'nearest'>): Promise<VectorHit[]>
  distances(query: Query<'distances'>): Promise<Map<string, number>>
  /** What is searched now, or null before the first. */
  generation(): Generation | null
  /** Loads a generation that is still building while the active one still serves; called again, loads what is new in it. */
  prepare(generation: Generation): Promise<void>
  /** `pending`: changes that a search sees and the driver has not taken yet. `count`: decisions that can be found by meaning. */
  status(): Promise<FollowerStatus>
  /** Hands everything that is pending to the driver. */
  flush(): Promise<void>
  close(): Promise<void>
}

interface FollowerStatus {
  driver: string
  generation: number
  applied_seq: number
  pending: number
  count: number
}

const FLUSH_EVERY_MS = 2_000

/** Opens the index of the active generation and loads what is new to it. */
export async function openFollower(options: FollowerOptions): Promise<Follower> {
  const { store, vectors, tail, log, breathe } = options
  let serving: Followed | null = null
  let preparing: { number: number; loaded: Promise<Followed> } | null = null
  let syncing = Promise.resolve()
  const searches = new Set<Promise<unknown>>()

  async function follow(generation: Generation): Promise<Followed> {
    const index = await openIndex(generation)
    if (vectors.immediate) return followDirectly(generation, index, log)
    if (!tail) throw new StorageError('invalid', `The driver ${vectors.driver} is not immediate: it needs a tail`)
    return followWithTail(generation, index, await tail.open(generation), log)
  }

  async function openIndex(generation: Generation): Promise<VectorIndex> {
    const index = await vectors.open(generation)
    const [watermark, head] = [await index.watermark(), await store.feed.head()]
    if (watermark <= head.seq) return index
    log('warn', 'The vector index is ahead of the store, so it belongs to another one; it is rebuilt', {
      generation: generation.number,
      watermark,
      head: head.seq,
    })
    await index.close()
    await vectors.keepOnly(serving?.generation.number ?? -1)
    return vectors.open(generation)
  }

  async function load(generation: Generation): Promise<Followed> {
    const followed = await follow(generation)
    await catchUp(followed, store.feed, breathe, log)
    return followed
  }

  /** Serves the active generation in place of the one before, which goes when no search needs it any more. */
  async function swap() {
    const active = await store.embeddings.generation('active')
    const before = serving
    if (active === null) serving = null
    else {
      const prepared = preparing?.number === active.number ? await preparing.loaded.catch(() => null) : null
      if (prepared) await catchUp(prepared, store.feed, breathe, log)
      serving = prepared ?? (await load(active))
      if (preparing && preparing.number <= active.number) preparing = null
      log('info', 'Vector index loaded', { driver: vectors.driver, generation: active.number, seq: serving.applied() })
    }
    tidy(before).catch((error) => log('warn', 'An old vector index was not removed', { error: String(error) }))
  }

  async function tidy(before: Followed | null) {
    await Promise.allSettled([...searches])
    await before?.close()
    // A generation that another process is building has its index too.
    if (serving && preparing === null && (await store.embeddings.generation('building')) === null) {
      await vectors.keepOnly(serving.generation.number)
    }
  }

  async function syncOnce() {
    const head = await store.feed.head()
    if (head.generation !== (serving?.generation.number ?? 0)) await swap()
    if (serving && serving.applied() < head.seq) await catchUp(serving, store.feed, breathe, log)
  }

  // The one under way may have asked for the head before the caller's own commit.
  const sync = sharedRun(() => {
    syncing = syncOnce()
    return syncing
  })

  async function search<T>(
    query: { vector: Float32Array; embedder?: string },
    none: T,
    run: (index: Searchable, vector: Float32Array) => Promise<T>,
  ): Promise<T> {
    await sync()
    const asked = serving
    if (asked === null) return none
    const { embedder, dimensions } = asked.generation
    if (query.embedder !== undefined && query.embedder !== embedder) {
      throw new StorageError('invalid', `The index holds vectors of ${embedder}, not of ${query.embedder}: reindex`)
    }
    const searching = run(asked, query.vector.length > dimensions ? query.vector.subarray(0, dimensions) : query.vector)
    searches.add(searching)
    try {
      return await searching
    } catch (error) {
      // Another process may have ended this generation, and removed its index, since the sync.
      await sync()
      if (serving === asked) throw error
      return search(query, none, run)
    } finally {
      searches.delete(searching)
    }
  }

  const flush = async () => serving?.flush()
  const stopFlushing = options.every(FLUSH_EVERY_MS, () => {
    if (serving && serving.pending() > 0) {
      flush().catch((error) =>
        log('warn', 'The vector index took no batch; it is tried again', { error: String(error) }),
      )
    }
  })
  const follower: Follower = {
    sync,
    nearest: (query) => search(query, [], (index, vector) => index.nearest({ ...query, vector })),
    distances: (query) => search(query, new Map(), (index, vector) => index.distances({ ...query, vector })),
    generation: () => serving?.generation ?? null,
    async prepare(generation) {
      if (serving?.generation.number === generation.number) return sync()
      if (preparing?.number === generation.number) {
        return catchUp(await preparing.loaded, store.feed, breathe, log)
      }
      const dropped = preparing?.loaded
      preparing = { number: generation.number, loaded: load(generation) }
      const mine = preparing
      dropped?.then((followed) => followed.close()).catch(() => {})
      mine.loaded.catch(() => {
        if (preparing === mine) preparing = null
      })
      await mine.loaded
    },
    async status() {
      await sync()
      return {
        driver: vectors.driver,
        generation: serving?.generation.number ?? 0,
        applied_seq: serving?.applied() ?? 0,
        pending: serving?.pending() ?? 0,
        count: (await serving?.count()) ?? 0,
      }
    },
    flush: async () => {
      await sync()
      await flush()
    },
    async close() {
      stopFlushing()
      await syncing.catch(() => {})
      await Promise.allSettled([...searches])
      await flush().catch((error) =>
        log('warn', 'The vector index did not take the last batch', { error: String(error) }),
      )
      const prepared = await preparing?.loaded.catch(() => null)
      await Promise.all([serving?.close(), prepared?.close()])
      await Promise.all([vectors.close(), tail?.close()])
    },
  }
  await sync()
  return follower
}
