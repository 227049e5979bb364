/**
 * The search index of a server, always up to date with the store: a search sees everything that any process committed before it began.
 * Search drivers know nothing of the store: this applies its feed to them, and switches generations after a reindex.
 */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Search, SearchGeneration, SearchIndex, SearchState } from '../../../sdk/storage/search.ts'
import { sharedRun } from '../../../sdk/storage/shared-run.ts'
import type { Generation, Store } from '../../../sdk/storage/store.ts'
import type { LogWriter } from '../../core/log.ts'
import { type Followed, followed } from './catch-up.ts'

interface FollowerOptions {
  store: Pick<Store, 'feed' | 'embeddings'>
  search: Search
  log: LogWriter
  /** Resolves when other work of the process has had its turn. */
  breathe(): Promise<void>
  /** If the index lacks more changes than this, searches do not wait for them, and answers say so. By default they wait. */
  beside_from?: number
  /** If the index lacks more changes than this, it may take them in one piece; see {@link SearchIndex.fill}. Must be below what a driver keeps in memory, or the driver starts to write it. [19 500] */
  piece_from?: number
}

/** With `embedder`, the search is refused if the index holds another embedder's vectors. */
type VectorQueryOf<Verb extends 'nearest' | 'distances'> = Parameters<SearchIndex[Verb]>[0] & { embedder?: string }

/** The index as a search sees it. */
export interface SearchView extends Pick<SearchIndex, 'keyword' | 'scores' | 'holding' | 'nearTerms'> {
  /**
   * As {@link SearchIndex.nearest}; empty before the first generation. A vector longer than the generation's is cut: the rest is padding.
   * @throws StorageError `invalid` for a vector of another embedder or length
   */
  nearest(query: VectorQueryOf<'nearest'>): ReturnType<SearchIndex['nearest']>
  distances(query: VectorQueryOf<'distances'>): ReturnType<SearchIndex['distances']>
  /** The generation that is searched by meaning, or null before the first. */
  generation(): SearchGeneration | null
  state(): Promise<FollowerState>
}

/** Every search sees what was committed before it began. */
export interface Follower extends SearchView {
  /** Brings the index up to date with the store. Searches do this themselves. */
  sync(): Promise<void>
  /** Several searches of one index, which is brought up to date once, before them; `run` may run again if that index was replaced. */
  once<T>(run: (view: SearchView) => Promise<T>): Promise<T>
  /** Removes erased decisions from the files of the index; see {@link SearchIndex.purge}. */
  purge(ids: readonly string[]): Promise<boolean>
  /** Loads a generation that is still building, while the active one serves; called again, loads its new changes. */
  prepare(generation: Generation): Promise<void>
  close(): Promise<void>
}

export interface FollowerState extends SearchState {
  driver: string
  generation: number
  applied_seq: number
}

/** Before the first generation, only keyword search is possible. */
const noVectors: SearchGeneration = { number: 0, embedder: '', dimensions: 0 }

/** Opens the index of the active generation and loads new changes. */
export async function openFollower({
  store,
  search,
  log,
  breathe,
  beside_from = Number.POSITIVE_INFINITY,
  piece_from = 19_500,
}: FollowerOptions): Promise<Follower> {
  const { feed, embeddings } = store
  const tools = { search, feed, log, breathe, piece_from }
  let serving: Followed | null = null
  let preparing: { number: number; loaded: Promise<Followed> } | null = null
  let syncing = Promise.resolve()
  const searches = new Set<Promise<unknown>>()

  async function load(generation: SearchGeneration, beside: number): Promise<Followed> {
    const index = await search.open(generation)
    const [watermark, head] = [await index.watermark(), await feed.head()]
    if (watermark > head.seq) {
      log('warn', 'The search index is ahead of the store, so it belongs to another one; it is rebuilt', {
        generation: generation.number,
        watermark,
        head: head.seq,
      })
      await index.close()
      await search.keepOnly(serving?.generation.number ?? -1)
    }
    return followed(tools, generation, beside)
  }

  /** Switches to the active generation. The previous one is closed when no search needs it any more. */
  async function swap() {
    const active = (await embeddings.generation('active')) ?? noVectors
    const before = serving
    const prepared = preparing?.number === active.number ? await preparing.loaded.catch(() => null) : null
    if (prepared) await prepared.catchUp()
    serving = prepared ?? (await load(active, beside_from))
    if (preparing && preparing.number <= active.number) preparing = null
    const seq = serving.applied()
    if (seq > 0) log('info', 'Search index loaded', { driver: search.driver, generation: active.number, seq })
    tidy(before).catch((error) => log('warn', 'An old search index was not removed', { error: String(error) }))
  }

  async function tidy(before: Followed | null) {
    await Promise.allSettled([...searches])
    await before?.close()
    // The index of a generation that another process is building must be kept too.
    if (serving && preparing === null && (await embeddings.generation('building')) === null)
      await search.keepOnly(serving.generation.number)
  }

  async function syncOnce() {
    const head = await feed.head()
    if (head.generation !== serving?.generation.number) await swap()
    else if (await serving.isBehind(head.seq)) await serving.catchUp(head.seq)
  }

  // A run in progress may have read the head before the caller's own commit, so callers share the next run.
  const sync = sharedRun(() => {
    syncing = syncOnce()
    return syncing
  })

  async function ask<T>(run: (asked: Followed) => Promise<T>): Promise<T> {
    await sync()
    const asked = serving!
    const searching = run(asked)
    searches.add(searching)
    try {
      const answer = await searching
      return (await asked.hasLost()) ? ask(run) : answer
    } catch (error) {
      // Another process may have ended this generation, and removed its index, since the sync.
      await sync()
      if (serving === asked) throw error
      return ask(run)
    } finally {
      searches.delete(searching)
    }
  }

  const follower: Follower = {
    ...viewOf(search.driver, ask, () => serving?.generation ?? noVectors),
    sync,
    once: (run) =>
      ask((asked) =>
        run(
          viewOf(
            search.driver,
            (one) => one(asked),
            () => asked.generation,
          ),
        ),
      ),
    async purge(ids) {
      const prepared = await preparing?.loaded.catch(() => null)
      if (prepared) await prepared.catchUp()
      const building = (await prepared?.index.purge(ids)) ?? true
      return (await ask(({ index }) => index.purge(ids))) && building
    },
    async prepare(generation) {
      if (serving?.generation.number === generation.number) return sync()
      if (preparing?.number === generation.number) return (await preparing.loaded).catchUp()
      const dropped = preparing?.loaded
      preparing = { number: generation.number, loaded: load(generation, Number.POSITIVE_INFINITY) }
      const mine = preparing
      dropped?.then((one) => one.close()).catch(() => {})
      mine.loaded.catch(() => {
        if (preparing === mine) preparing = null
      })
      await mine.loaded
    },
    async close() {
      await syncing.catch(() => {})
      await Promise.allSettled([...searches])
      const prepared = await preparing?.loaded.catch(() => null)
      await Promise.all([serving?.close(), prepared?.close()])
      await search.close()
    },
  }
  await sync()
  return follower
}

/** The methods of a search, each run on the index that `ask` provides. */
function viewOf(
  driver: string,
  ask: <T>(run: (asked: Followed) => Promise<T>) => Promise<T>,
  generation: () => SearchGeneration,
): SearchView {
  const askByVector = <T>(
    query: { vector: Float32Array; embedder?: string },
    none: T,
    run: (index: SearchIndex, vector: Float32Array) => Promise<T>,
  ): Promise<T> =>
    ask(async ({ generation: { number, embedder, dimensions }, index }) => {
      if (number === noVectors.number) return none
      if (query.embedder !== undefined && query.embedder !== embedder)
        throw new StorageError('invalid', `The index holds vectors of ${embedder}, not of ${query.embedder}: reindex`)
      return run(index, query.vector.length > dimensions ? query.vector.subarray(0, dimensions) : query.vector)
    })
  return {
    nearest: (query) => askByVector(query, [], (index, vector) => index.nearest({ ...query, vector })),
    distances: (query) => askByVector(query, new Map(), (index, vector) => index.distances({ ...query, vector })),
    keyword: (query) => ask(({ index }) => index.keyword(query)),
    scores: (query) => ask(({ index }) => index.scores(query)),
    holding: (query) => ask(({ index }) => index.holding(query)),
    nearTerms: (query) => ask(({ index }) => index.nearTerms(query)),
    generation: () => (generation().number === noVectors.number ? null : generation()),
    state: () =>
      ask(async ({ generation: { number }, index, applied, filling }) => {
        const state = await index.state()
        const building = state.building || filling()
        return { driver, generation: number, applied_seq: applied(), ...state, building }
      }),
  }
}
