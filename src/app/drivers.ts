/** Opens the drivers that the settings name; a driver's libraries are loaded only if it is chosen. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import { countDecisions } from '../../sdk/storage/groups.ts'
import type { Store, StoreOptions } from '../../sdk/storage/store.ts'
import type { Log } from '../core/log.ts'
import { attestExisting, threaded } from '../domain/ledger/thread/threaded.ts'
import { type IndexSync, openIndexSync } from '../domain/search/index-sync.ts'
import { openHashEmbedder } from '../drivers/embedder/hash.ts'
import { within } from '../drivers/shared/within.ts'
import type { Lease } from '../surfaces/http/limits.ts'
import type { Metrics } from '../surfaces/http/metrics.ts'
import { evidencePlace, isPostgres, type Settings } from './config/config.ts'
import { later, StoreLost } from './lifecycle.ts'
import { loadDrivers } from './own-drivers.ts'
import { openSearch } from './search.ts'

/** Opens the embedder. @param failed called if a model that loads in the background can't be loaded */
export async function openEmbedder(settings: Settings, log: Log, failed?: (error: unknown) => void): Promise<Embedder> {
  const own = await loadDrivers(settings.drivers)
  if (own.embedder) return own.embedder()
  const { embedding_model: model, embedding_url: url, embedding_api_key: api_key } = settings
  const remote = { ...(model && { model }), ...(url && { url }), ...(api_key && { api_key }) }
  switch (settings.embedder) {
    case 'hash':
      return openHashEmbedder()
    case 'local':
      return (await import('../drivers/embedder/local/driver.ts')).openLocalEmbedder({ log, ...(failed && { failed }) })
    case 'huggingface':
      return (await import('../drivers/embedder/huggingface.ts')).openHuggingfaceEmbedder(remote)
    case 'openai':
      return (await import('../drivers/embedder/openai.ts')).openOpenaiEmbedder({
        ...remote,
        model: model!,
        url: url!,
      })
  }
}

/** What servers of one database share besides the store. */
export interface Shared {
  lease: Lease
}

const pingMs = 2_000
/** Within this interval, the previous answer is reused. */
const pingEveryMs = 250

/** Limits how often `ask` runs, since anyone may trigger it. `otherwise` is the answer if it fails or takes too long. */
export function askedRarely<T>(ask: () => Promise<T>, otherwise: T, wait_ms = pingMs): () => Promise<T> {
  let asked: { at: number; answer: Promise<T> } = { at: Number.NEGATIVE_INFINITY, answer: Promise.resolve(otherwise) }
  return () => {
    const at = performance.now()
    if (at - asked.at < pingEveryMs) return asked.answer
    const given = ask().catch(() => otherwise)
    asked = { at, answer: within(given, wait_ms, otherwise) }
    return asked.answer
  }
}

/** Bytes written to probe the disk. */
const probeBytes = 65_536
const probeEveryMs = 5_000

/** Whether files in a folder can be written. Anyone may ask, so the disk is probed every five seconds at most. */
export function writable(dir: string, every_ms = probeEveryMs): () => Promise<boolean> {
  const file = join(dir, `.ready.${process.pid}.tmp`)
  const zeros = new Uint8Array(probeBytes)
  let works = true
  let asked = Number.NEGATIVE_INFINITY
  let probing: Promise<void> = Promise.resolve()
  const probe = async (): Promise<void> => {
    try {
      await writeFile(file, zeros, { mode: 0o600, flush: true })
      works = true
    } catch {
      works = false
    }
    await rm(file, { force: true }).catch(() => {})
  }
  return async () => {
    if (performance.now() - asked >= every_ms) {
      asked = performance.now()
      probing = probing.then(probe)
    }
    // A slow disk is not a failing one: until the probe finishes, the previous result stands.
    await within(probing, pingMs, undefined)
    return works
  }
}

/** Avoids node:crypto's version, which makes a system call each time. */
export const randomHex = (bytes: number): string => crypto.getRandomValues(new Uint8Array(bytes)).toHex()

/**
 * Opens the store, wrapped so that its transactions also write acts to the thread. `shared` is set if other servers may use the store too;
 * `reachable` tells whether it can be written to now.
 * @param options.brief the process exits when its work is done
 * @param acted called when there are acts to sequence
 * @param failed called with a {@link StoreLost}
 */
export async function openStore(
  { store_url, data_dir, drivers }: Settings,
  options: StoreOptions & { log: Log; brief?: boolean },
  acted: () => void = () => {},
  failed: (error: unknown) => void = () => {},
): Promise<{ store: Store; shared?: Shared; reachable(): Promise<boolean>; close(): Promise<void> }> {
  const tools = { now: options.now, randomHex }
  const opened = async (store: Store) => {
    await attestExisting(store, tools)
    return threaded(store, tools, acted)
  }
  const own = await loadDrivers(drivers)
  if (own.store) {
    const store = await own.store({ analyse: options.analyse, now: options.now })
    const reachable = askedRarely(() => store.feed.head().then(() => true), false)
    return { store: await opened(store), reachable, close: store.close }
  }
  if (store_url === null) {
    const { openSqliteStore } = await import('../drivers/store/sqlite/driver.ts')
    const store = await openSqliteStore({ ...options, dir: data_dir })
    return { store: await opened(store), reachable: writable(data_dir), close: store.close }
  }
  const { openPostgresStore } = await import('../drivers/store/postgres/driver.ts')
  const { lease, ping, lost, ...store } = await openPostgresStore({ ...options, url: store_url })
  lost.then((cause) => failed(new StoreLost(cause)))
  const reachable = askedRarely(() => ping().then(() => true), false)
  return { store: await opened(store), shared: { lease }, reachable, close: store.close }
}

/** Opens the evidence log that the settings name. */
export async function openEvidence(settings: Settings): Promise<Evidence> {
  const own = await loadDrivers(settings.drivers)
  if (own.evidence) return own.evidence()
  const place = evidencePlace(settings)
  return isPostgres(place)
    ? (await import('../drivers/evidence/postgres/driver.ts')).openPostgresEvidence({ url: place })
    : (await import('../drivers/evidence/sqlite/driver.ts')).openSqliteEvidence(place)
}

/** Counts each call of an embedder in the metrics. */
export function metered(embedder: Embedder, metrics: Metrics): Embedder {
  return {
    ...embedder,
    async embed(texts, kind, signal) {
      const start = performance.now()
      let failed = true
      try {
        const vectors = await embedder.embed(texts, kind, signal)
        failed = false
        return vectors
      } finally {
        metrics.embed(kind, texts.length, performance.now() - start, failed)
      }
    },
  }
}

/**
 * Opens the search index and keeps it up to date with the store. Logs any limits on search.
 * @param embedder id of the configured one
 * @param max_wait_ms a search waits so long for the index; by default until it is up to date
 * @param afresh made again from the store, since what is kept of it is of another history
 */
export async function openIndex(
  settings: Settings,
  store: Store,
  embedder: string,
  log: Log,
  max_wait_ms?: number,
  afresh = false,
): Promise<IndexSync> {
  const search = await openSearch(settings, store, log)
  if (afresh) await search.keepOnly(-1)
  const index = await openIndexSync({
    store,
    search,
    log,
    ...(max_wait_ms !== undefined && { max_wait_ms, after: later }),
    yieldToEventLoop: () => Bun.sleep(0),
    total: () => countDecisions(store.decisions, {}),
  }).catch(async (error) => {
    await search.close()
    throw error
  })
  const made = index.generation()
  if (made && made.embedder !== embedder) {
    log('warn', 'another embedder made the stored vectors; semantic search is off until cstp reindex', {
      stored: made.embedder,
      configured: embedder,
    })
  }
  return index
}
