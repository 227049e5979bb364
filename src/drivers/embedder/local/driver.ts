/** The embedder in this program: all-MiniLM-L6-v2 in a thread of its own, with no network. */
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { startThread } from '../../../core/thread.ts'
import { closedError, openQueue } from '../shared/queue.ts'
import { type Engine, startEngine } from './engine.ts'
import { assets, EFFECTIVE_DIMENSIONS, readVocabulary, visible } from './minilm.ts'
import type { RuntimeName } from './runtime.ts'

export interface LocalOptions {
  /** The build of onnxruntime to use. [native, else wasm] */
  runtime?: RuntimeName
  log?(level: 'info' | 'warn', message: string, data?: Record<string, unknown>): void
  /** Called if the model can't load at the start. With it opening does not wait for the model; texts do. */
  failed?(error: unknown): void
}

const CACHED_TEXTS = 2_000
/** A second text waits in the thread while the first is computed, so that the thread need not wait for this one. */
const TEXTS_AT_ONCE = 2

const startWorker = () => startThread('drivers/embedder/local/worker.ts')

/**
 * Resolves when the model is ready, or at once where `failed` is given.
 * @throws StorageError `unavailable` when it can't load
 */
export async function openLocalEmbedder(options: LocalOptions = {}, newWorker = startWorker): Promise<Embedder> {
  const { log = () => {} } = options
  const cache = openCache(CACHED_TEXTS)
  let engine: Promise<Engine> | undefined

  async function start(): Promise<Engine> {
    const began = performance.now()
    const started = await startEngine(newWorker(), options.runtime, () => {
      engine = undefined
      log('warn', 'The thread of the local embedder ended unexpectedly; the next text starts another')
    })
    const { name, fallback } = started.runtime
    const load_ms = Math.round(performance.now() - began)
    log('info', 'The local embedder is ready', { runtime: name, load_ms })
    if (fallback)
      log('warn', 'onnxruntime-node does not load: embedding is about ten times slower', { cause: fallback })
    return started
  }

  function running(): Promise<Engine> {
    engine ??= start().catch((error) => {
      engine = undefined
      throw error
    })
    return engine
  }

  const queue = openQueue<string, Float32Array>(TEXTS_AT_ONCE, async (text) => {
    const seen = visible(text)
    const known = cache.get(seen)
    if (known) return known
    const vector = await (await running()).embed(seen)
    cache.set(seen, vector)
    return vector
  })

  let vocabulary: Promise<ReadonlySet<string>> | undefined

  const first = running()
  if (options.failed) first.catch(options.failed)
  else await first
  return {
    driver: 'local',
    // The same for both builds: their vectors differ by about .001, far less than a rewording makes.
    id: `local/all-MiniLM-L6-v2-int8/${assets.model.sha256.slice(0, 12)}`,
    effective_dimensions: EFFECTIVE_DIMENSIONS,
    noise_distance: 0.78,
    // Chosen on the development questions of `bun run eval`.
    precedent_distance: 0.61,
    similar_distance: 0.5,
    embed: (texts, kind, signal) => queue.run(texts, kind, signal),
    // Read when a question first holds a word that no decision does. Without it words are corrected by their letters alone.
    async knowsWord(word) {
      vocabulary ??= readVocabulary().catch(() => new Set())
      return (await vocabulary).has(word)
    },
    async close() {
      queue.close(closedError('local'))
      const last = await engine?.catch(() => undefined)
      last?.stop()
    },
  }
}

/** The vectors of recent texts: tests of a rule, retries and repeated questions cost nothing. */
function openCache(size: number) {
  // A Map iterates in order of insertion: the first key is the one unused for longest.
  const vectors = new Map<string, Float32Array>()
  return {
    /** A copy of the vector of this text, which becomes the most recent. */
    get(text: string): Float32Array | undefined {
      const vector = vectors.get(text)
      if (!vector) return
      vectors.delete(text)
      vectors.set(text, vector)
      return vector.slice()
    },
    set(text: string, vector: Float32Array): void {
      vectors.delete(text)
      vectors.set(text, vector.slice())
      if (vectors.size > size) vectors.delete(vectors.keys().next().value!)
    },
  }
}
