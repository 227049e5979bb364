/** The built-in embedder: all-MiniLM-L6-v2 in separate threads, without a network. */
import { availableParallelism } from 'node:os'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { messageOf } from '../../../core/log.ts'
import { startWorker } from '../../../core/worker.ts'
import { closedError, openQueue } from '../shared/queue.ts'
import { assets, EFFECTIVE_DIMENSIONS, readVocabulary, visible } from './minilm.ts'
import type { RuntimeName } from './runtime.ts'
import { type Engine, openThreads, startEngine, type ThreadLimits } from './threads.ts'

export interface LocalOptions {
  /** The build of onnxruntime to use. [native, else wasm] */
  runtime?: RuntimeName
  log?(level: 'info' | 'warn', message: string, data?: Record<string, unknown>): void
  /** Called if the model can't load at the start. If given, opening does not wait for the model, but texts do. */
  failed?(error: unknown): void
}

const CACHED_TEXTS = 2_000
/** Texts sent to a thread at once: the second is there when the first is done, so the thread need not wait for the main thread. */
const TEXTS_AT_ONCE = 2
/** If this many texts had to wait within this time, another thread is started, which takes a third of a second. */
const MANY_TEXTS = 24
const MANY_WITHIN_MS = 10_000
/** Waiting questions that justify another thread. They are short, and a search costs several times as much as embedding its question. */
const MANY_QUESTIONS = 16
const limits: ThreadLimits = { most: Math.min(2, availableParallelism()), idle_ms: 15_000 }

const startModel = () => startWorker('drivers/embedder/local/worker.ts')

/**
 * Resolves when the model is ready, or immediately if `failed` is given.
 * @throws StorageError `unavailable` if the model can't load
 */
export async function openLocalEmbedder(
  options: LocalOptions = {},
  newWorker = startModel,
  threadLimits = limits,
): Promise<Embedder> {
  const { log = () => {} } = options
  let opened = false

  async function start(ended: () => void): Promise<Engine> {
    const began = performance.now()
    const started = await startEngine(newWorker(), options.runtime, () => {
      ended()
      log('warn', 'A thread of the local embedder ended unexpectedly; another is started when it is needed')
    })
    const { name, fallback } = started.runtime
    const load_ms = Math.round(performance.now() - began)
    log('info', 'The local embedder is ready', { runtime: name, load_ms })
    if (fallback && !opened)
      log('warn', 'onnxruntime-node does not load: embedding is about ten times slower', { cause: fallback })
    opened = true
    return started
  }

  const threads = openThreads(start, threadLimits, (error) =>
    log('warn', 'The local embedder continues with one thread', { cause: messageOf(error) }),
  )
  const vectorOf = openCache(CACHED_TEXTS, threads.embed)
  const queue = openQueue<string, Float32Array>(
    () => TEXTS_AT_ONCE * threads.count(),
    (text) => vectorOf(visible(text)),
  )
  const many = openTally(MANY_TEXTS, MANY_WITHIN_MS)
  let vocabulary: Promise<ReadonlySet<string>> | undefined

  const first = threads.first()
  if (options.failed) first.catch(options.failed)
  else await first
  return {
    driver: 'local',
    // The same for both builds: their vectors differ by about 0.001, far less than after a rewording.
    id: `local/all-MiniLM-L6-v2-int8/${assets.model.sha256.slice(0, 12)}`,
    effective_dimensions: EFFECTIVE_DIMENSIONS,
    noise_distance: 0.78,
    // Chosen on the development questions of `bun run eval`.
    precedent_distance: 0.61,
    similar_distance: 0.5,
    in_process: true,
    // Longest texts first, so that two threads that share a call finish at about the same time.
    async embed(texts, kind, signal) {
      const waits = queue.waiting() + texts.length - 1
      const least = kind === 'query' ? MANY_QUESTIONS : 1
      if (waits >= least && many(waits)) threads.wanted()
      const order = [...texts.keys()].sort((a, b) => texts[b]!.length - texts[a]!.length)
      const vectors = await queue.run(
        order.map((at) => texts[at]!),
        kind,
        signal,
      )
      const results = new Array<Float32Array>(texts.length)
      for (const [place, at] of order.entries()) results[at] = vectors[place]!
      return results
    },
    // Read when a question first contains a word that is in no decision. Without the vocabulary, words are corrected only by spelling.
    async knowsWord(word) {
      vocabulary ??= readVocabulary().catch(() => new Set())
      return (await vocabulary).has(word)
    },
    async close() {
      queue.close(closedError('local'))
      await threads.stop()
    },
  }
}

/** A sum that restarts at zero after `within_ms`. Adds to it, and returns whether it exceeds `most`. */
function openTally(most: number, within_ms: number) {
  let sum = 0
  let since = 0
  return (count: number): boolean => {
    const now = performance.now()
    if (now - since > within_ms) [sum, since] = [0, now]
    sum += count
    return sum > most
  }
}

/**
 * Caches the vectors of recent texts, so that rule tests, retries and repeated questions cost nothing. A text that is already being computed
 * is not computed twice. Each call gets a copy.
 */
function openCache(size: number, make: (text: string) => Promise<Float32Array>) {
  // A Map iterates in order of insertion: the first key is the least recently used.
  const vectors = new Map<string, Promise<Float32Array>>()
  return async (text: string): Promise<Float32Array> => {
    const vector = vectors.get(text) ?? make(text)
    vectors.delete(text)
    vectors.set(text, vector)
    if (vectors.size > size) vectors.delete(vectors.keys().next().value!)
    try {
      return (await vector).slice()
    } catch (error) {
      if (vectors.get(text) === vector) vectors.delete(text)
      throw error
    }
  }
}
