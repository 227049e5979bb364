/**
 * The search index of a server, which follows the store: in the background, and before each search. Search drivers know nothing of the
 * store: this applies its feed to them, and switches generations after a reindex.
 */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Search, SearchGeneration, SearchIndex, SearchState } from '../../../sdk/storage/search.ts'
import { sharedRun } from '../../../sdk/storage/shared-run.ts'
import type { Generation, Store } from '../../../sdk/storage/store.ts'
import type { LogWriter } from '../../core/log.ts'
import { startPeriodicJob } from '../../core/periodic-job.ts'
import { type GenerationSync, openGeneration } from './generation-sync.ts'

interface IndexSyncOptions {
  store: Pick<Store, 'feed'>
  search: Search
  log: LogWriter
  /** Resolves when other work of the process has had its turn. */
  yieldToEventLoop(): Promise<void>
  /** Calls back after `ms` milliseconds; returns a function that cancels it. Without it the index follows only when it is searched. */
  after?: (ms: number, run: () => void) => () => void
  /** A search waits so long for the index to follow, and then answers with what it holds; needs `after`. [without limit] */
  max_wait_ms?: number
  /** All decisions of the store, which an index that is behind does not know. */
  total?: () => Promise<number>
}

/** How often the store is asked for changes, by this process and by others: when there were none, and when there were some. */
const pollMs = { idle: 1_000, busy: 250 }
/** A search that must not miss a change waits so many times longer before it fails. */
const patience = 10

/** With `embedder`, the search is refused if the index holds another embedder's vectors. */
type VectorQueryOf<Verb extends 'nearest' | 'distances'> = Parameters<SearchIndex[Verb]>[0] & { embedder?: string }

/** The index as a search sees it. */
export interface SearchView extends Pick<SearchIndex, 'keyword' | 'scores' | 'idsContainingAll' | 'nearTerms'> {
  /**
   * As {@link SearchIndex.nearest}; empty before the first generation. A vector longer than the generation's is cut: the rest is padding.
   * @throws StorageError `invalid` for a vector of another embedder or length
   */
  nearest(query: VectorQueryOf<'nearest'>): ReturnType<SearchIndex['nearest']>
  distances(query: VectorQueryOf<'distances'>): ReturnType<SearchIndex['distances']>
  /** The generation that is searched by meaning, or null before the first. */
  generation(): SearchGeneration | null
  /** @param wait_ms how long it waits for the index to follow; by default as a search does */
  state(wait_ms?: number): Promise<IndexSyncState>
}

/**
 * Every search sees what was committed before it began, or says in its state that it does not: then `building` is true, because it did not
 * wait longer for the index.
 */
export interface IndexSync extends SearchView {
  /** Brings the index up to date with the store. */
  sync(): Promise<void>
  /**
   * Several searches of one index, which is brought up to date once, before them; `run` may run again if that index was replaced.
   * @param of `complete` if an answer that lacks a change is worse than none
   * @throws StorageError `unavailable` if the index must be complete, and is not in time
   */
  once<T>(run: (view: SearchView) => Promise<T>, of?: 'complete'): Promise<T>
  /** Removes erased decisions from the files of the index; see {@link SearchIndex.purge}. */
  purge(ids: readonly string[]): Promise<boolean>
  /** Loads a generation that is still building, while the active one serves; called again, loads its new changes. */
  prepare(generation: Generation): Promise<void>
  close(): Promise<void>
}

export interface IndexSyncState extends SearchState {
  driver: string
  generation: number
  applied_seq: number
  /** True if results may lack changes of the store. */
  building: boolean
}

/** Before the first generation, only keyword search is possible. */
export const noVectors: SearchGeneration = { number: 0, embedder: '', dimensions: 0 }

/** Opens the index of the active generation, and begins to apply what it lacks. */
export async function openIndexSync({
  store,
  search,
  log,
  yieldToEventLoop,
  after,
  max_wait_ms = Number.POSITIVE_INFINITY,
  total,
}: IndexSyncOptions): Promise<IndexSync> {
  const { feed } = store
  const tools = { search, feed, log, yieldToEventLoop }
  let serving: GenerationSync | null = null
  let preparing: { number: number; loaded: Promise<GenerationSync> } | null = null
  let syncing = Promise.resolve()
  const searches = new Set<Promise<unknown>>()

  async function load(generation: SearchGeneration): Promise<GenerationSync> {
    const opened = await openGeneration(tools, generation)
    const head = await feed.head()
    if (opened.applied() <= head.seq) return opened
    log('warn', 'The search index is ahead of the store, so it belongs to another one; it is rebuilt', {
      generation: generation.number,
      watermark: opened.applied(),
      head: head.seq,
    })
    await opened.close()
    await search.keepOnly(serving?.generation.number ?? -1)
    return openGeneration(tools, generation)
  }

  /** Switches to the active generation. The previous one is closed when no search needs it any more. */
  async function swap() {
    const active = (await feed.head()).active ?? noVectors
    const before = serving
    const prepared = preparing?.number === active.number ? await preparing.loaded.catch(() => null) : null
    const next = prepared ?? (await load(active))
    // The previous generation is searched until this one is whole.
    if (before !== null) await next.catchUp()
    serving = next
    if (preparing && preparing.number <= active.number) preparing = null
    const seq = serving.applied()
    if (seq > 0) log('info', 'Search index loaded', { driver: search.driver, generation: active.number, seq })
    tidy(before).catch((error) => log('warn', 'An old search index was not removed', { error: String(error) }))
  }

  async function tidy(before: GenerationSync | null) {
    await Promise.allSettled([...searches])
    await before?.close()
    // The index of a generation that another process is building must be kept too.
    if (serving && preparing === null && (await feed.head()).building === null)
      await search.keepOnly(serving.generation.number)
  }

  async function syncOnce() {
    const head = await feed.head()
    if ((head.active ?? noVectors).number !== serving?.generation.number) await swap()
    if (await serving!.isBehind(head.seq)) await serving!.catchUp(head.seq)
  }

  // A run in progress may have read the head before the caller's own commit, so callers share the next run.
  const sync = sharedRun(() => {
    syncing = syncOnce()
    return syncing
  })

  /** Waits until the index is up to date, but not too long. @returns whether it is */
  async function syncInTime(ms: number): Promise<boolean> {
    if (serving === null || after === undefined || ms === Number.POSITIVE_INFINITY) return sync().then(() => true)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const cancel = after(ms, () => resolve(false))
    try {
      return await Promise.race([sync().then(() => true), promise])
    } finally {
      cancel()
    }
  }

  async function ask<T>(
    run: (asked: GenerationSync, isBehind: boolean) => Promise<T>,
    of?: 'complete' | number,
  ): Promise<T> {
    const isCurrent = await syncInTime(of === 'complete' ? patience * max_wait_ms : (of ?? max_wait_ms))
    if (!isCurrent && of === 'complete')
      throw new StorageError('unavailable', 'The search index still lacks changes of the store; try again')
    const asked = serving!
    const searching = run(asked, !isCurrent)
    searches.add(searching)
    try {
      const answer = await searching
      // If the wait was too short, the answer already says that it is incomplete.
      return isCurrent && (await asked.hasLost()) ? ask(run, of) : answer
    } catch (error) {
      // Another process may have ended this generation, and removed its index, since the sync.
      await syncInTime(max_wait_ms)
      if (serving === asked) throw error
      return ask(run, of)
    } finally {
      searches.delete(searching)
    }
  }

  const index: IndexSync = {
    ...viewOf(search.driver, ask, () => serving?.generation ?? noVectors, total),
    sync,
    once: (run, of) =>
      ask(
        (asked, isBehind) =>
          run(
            viewOf(
              search.driver,
              (one) => one(asked, isBehind),
              () => asked.generation,
              total,
            ),
          ),
        of,
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
      const loading = load(generation)
      preparing = { number: generation.number, loaded: loading.then((one) => one.catchUp().then(() => one)) }
      const mine = preparing
      dropped?.then((one) => one.close()).catch(() => {})
      mine.loaded.catch(() => {
        if (preparing === mine) preparing = null
      })
      await mine.loaded
    },
    async close() {
      serving?.stop()
      await rounds?.close()
      await syncing.catch(() => {})
      await Promise.allSettled([...searches])
      const prepared = await preparing?.loaded.catch(() => null)
      await Promise.all([serving?.close(), prepared?.close()])
      await search.close()
    },
  }
  await swap()
  if (max_wait_ms === Number.POSITIVE_INFINITY) await sync()
  let failing = false
  const rounds =
    after &&
    startPeriodicJob({
      every_ms: pollMs.idle,
      busy_ms: pollMs.busy,
      after,
      async work() {
        const before = serving?.applied()
        await sync()
        failing = false
        return serving?.applied() === before ? 0 : 1
      },
      failed(error) {
        if (!failing) log('warn', 'The search index could not follow the store', { error: String(error) })
        failing = true
      },
    })
  return index
}

/** The methods of a search, each run on the index that `ask` provides. */
function viewOf(
  driver: string,
  ask: <T>(run: (asked: GenerationSync, isBehind: boolean) => Promise<T>, wait_ms?: number) => Promise<T>,
  generation: () => SearchGeneration,
  total: IndexSyncOptions['total'],
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
    idsContainingAll: (query) => ask(({ index }) => index.idsContainingAll(query)),
    nearTerms: (query) => ask(({ index }) => index.nearTerms(query)),
    generation: () => (generation().number === noVectors.number ? null : generation()),
    state: (wait_ms) =>
      ask(async ({ generation: { number }, index, applied }, isBehind) => {
        const state = await index.state()
        if (isBehind && total !== undefined) state.decisions = await total()
        return { driver, generation: number, applied_seq: applied(), ...state, building: isBehind }
      }, wait_ms),
  }
}
