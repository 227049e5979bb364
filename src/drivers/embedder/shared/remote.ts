/** An embedder over a provider that can be slow, busy or unavailable: its limits, retries and errors. */
import { setTimeout as sleep } from 'node:timers/promises'
import { DIMENSIONS, type Embedder } from '../../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { closedError, openQueue } from './queue.ts'
import { RequestFailure, redactor } from './request.ts'

/** Limits of the load on a provider and of waiting for it. */
export interface RemoteLimits {
  /** One request, until its last byte. [20 000] */
  timeout_ms?: number
  /** Retries after a network error, a 429 or a 5xx. [3] */
  retries?: number
  /** The first retry waits a random part of this; the maximum doubles with each further retry. [250] */
  backoff_ms?: number
  /** Longest pause before a retry. A provider that asks for a longer one is not tried again. [10 000] */
  max_wait_ms?: number
  /** Requests at once. [4] */
  concurrency?: number
  /** Texts in a request. [32] */
  batch_size?: number
  /** Characters of a text that are sent. [8 000] */
  max_chars?: number
  /** Hits from this distance on are noise. [by model, else 0.75] */
  noise_distance?: number
}

interface Provider {
  driver: string
  id: string
  /** The model and its address, for messages. */
  place: string
  traits: ModelTraits
  secrets: readonly string[]
  /** Sends one request. The answer is not trusted. */
  ask(texts: string[], signal: AbortSignal): Promise<unknown>
}

/** How long opening waits for the one text that tests the model. */
const PROBE_MS = 5_000

/**
 * Tests the provider with one text. An unavailable provider does not make opening fail, since it may become available later.
 * @throws StorageError if the provider refuses, or the model returns another length
 */
export async function openRemote(provider: Provider, limits: RemoteLimits): Promise<Embedder> {
  const { timeout_ms = 20_000, retries = 3, backoff_ms = 250, max_wait_ms = 10_000 } = limits
  const { concurrency = 4, batch_size = 32, max_chars = 8_000 } = limits
  const { driver, traits } = provider
  const redact = redactor(provider.secrets)

  async function attempt(texts: string[], signal: AbortSignal, ms: number): Promise<Float32Array[]> {
    const timeout = AbortSignal.timeout(ms)
    try {
      return read(await provider.ask(texts, AbortSignal.any([signal, timeout])), texts.length)
    } catch (error) {
      signal.throwIfAborted()
      if (timeout.aborted) throw new RequestFailure('slow', `did not answer within ${ms} ms`)
      throw error
    }
  }

  async function persist(texts: string[], signal: AbortSignal): Promise<Float32Array[]> {
    for (let tried = 0; ; tried++) {
      try {
        return await attempt(texts, signal, timeout_ms)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof RequestFailure && error.kind === 'unavailable') || tried >= retries)
          throw storageError(error)
        const wait = error.wait_ms ?? Math.random() * Math.min(max_wait_ms, backoff_ms * 2 ** tried)
        if (wait > max_wait_ms) throw storageError(error)
        await sleep(wait, undefined, { signal }).catch(() => signal.throwIfAborted())
      }
    }
  }

  // Without `cause`: a library's error may contain the request with its headers.
  function storageError(error: unknown): StorageError {
    const kind = error instanceof StorageError ? error.kind : 'unavailable'
    return new StorageError(kind, `The ${driver} embedder (${provider.place}) ${redact(messageOf(error))}`)
  }

  await attempt(['.'], new AbortController().signal, Math.min(PROBE_MS, timeout_ms)).catch((error) => {
    if (!(error instanceof RequestFailure) || error.kind === 'refused') throw storageError(error)
  })

  const queue = openQueue(() => concurrency, persist)
  const noise_distance = limits.noise_distance ?? traits.noise_distance
  return {
    driver,
    id: provider.id,
    effective_dimensions: DIMENSIONS,
    noise_distance,
    // In the proportions measured with the local model. Estimates, like the distances below.
    precedent_distance: 0.78 * noise_distance,
    similar_distance: 0.64 * noise_distance,
    async embed(texts, kind, signal) {
      const prefix = kind === 'query' ? traits.query_prefix : traits.document_prefix
      // Several providers refuse an empty text.
      const sent = texts.map((text) => prefix + (text.slice(0, max_chars).toWellFormed().trim() || '.'))
      const batches = Array.from({ length: Math.ceil(sent.length / batch_size) }, (_, i) =>
        sent.slice(i * batch_size, (i + 1) * batch_size),
      )
      return (await queue.run(batches, kind, signal)).flat()
    },
    async close() {
      queue.close(closedError(driver))
    },
  }
}

/** @throws StorageError `invalid` for another length; Error for anything but a list of vectors */
function read(answer: unknown, count: number): Float32Array[] {
  if (!Array.isArray(answer) || answer.length !== count) throw new Error(`did not return a list of ${count} vectors`)
  return answer.map((values: unknown) => {
    if (!Array.isArray(values) || !values.every(Number.isFinite))
      throw new Error('returned a vector that is not a list of numbers')
    if (values.length !== DIMENSIONS)
      throw new StorageError('invalid', `returns vectors of ${values.length} dimensions; ${DIMENSIONS} are required`)
    const length = Math.hypot(...values)
    if (length === 0) throw new Error('returned a vector of length 0')
    return Float32Array.from(values, (value: number) => value / length)
  })
}

interface ModelTraits {
  /** Prepended to a question. */
  query_prefix: string
  /** Prepended to any other text. */
  document_prefix: string
  noise_distance: number
  /** Whether the model returns longer vectors unless 768 dimensions are requested. */
  ask_for_length: boolean
}

const plain: ModelTraits = {
  query_prefix: '',
  document_prefix: '',
  // Errs on the side of showing a hit. Models differ: set `noise_distance` for a model that is not listed below.
  noise_distance: 0.75,
  ask_for_length: false,
}

/** Matched by a part of the model's name, since servers use different owners and tags. The distances are estimates. */
const known: [part: string, traits: Partial<ModelTraits>][] = [
  ['bge-base-en', { query_prefix: 'Represent this sentence for searching relevant passages: ', noise_distance: 0.5 }],
  ['all-mpnet-base', { noise_distance: 0.75 }],
  ['nomic-embed-text', { query_prefix: 'search_query: ', document_prefix: 'search_document: ', noise_distance: 0.5 }],
  ['text-embedding-3', { noise_distance: 0.8, ask_for_length: true }],
]

export function traitsOf(model: string): ModelTraits {
  const name = model.toLowerCase()
  return { ...plain, ...known.find(([part]) => name.includes(part))?.[1] }
}
