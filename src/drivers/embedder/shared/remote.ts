/** An embedder over a provider that can be slow, busy or away. */
import { DIMENSIONS, type Embedder } from '../../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { closedError } from './closed.ts'
import { openQueue } from './queue.ts'

/** How hard a provider may be worked, and for how long it is waited for. */
export interface RemoteLimits {
  /** One request, until its last byte. [20 000] */
  timeout_ms?: number
  /** Further tries after a network error, a 429 or a 5xx. [3] */
  retries?: number
  /** The first wait before trying again is a random part of this; each further one of double. [250] */
  backoff_ms?: number
  /** A provider that asks to be left alone for longer is not waited for. [10 000] */
  max_wait_ms?: number
  /** Requests at once. [4] */
  concurrency?: number
  /** Texts in a request. [32] */
  batch_size?: number
  /** Characters of a text that are sent. [8 000] */
  max_chars?: number
  /** Replaces what is assumed of the model. */
  noise_distance?: number
}

export interface Provider {
  driver: string
  id: string
  /** For messages: the model and where it is. */
  place: string
  traits: ModelTraits
  secrets: readonly string[]
  /** One request. What it answers is not trusted. */
  ask(texts: string[], signal: AbortSignal): Promise<unknown>
}

/** How long opening waits for the one text that shows whether the model fits. */
const PROBE_MS = 5_000

/**
 * Asks for one vector. A provider that is away does not stop the opening, since it may be back later.
 * @throws StorageError when the provider refuses, or the model gives another length
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
        if (!(error instanceof RequestFailure && error.kind === 'away') || tried >= retries) throw storageError(error)
        const wait = error.wait_ms ?? Math.random() * Math.min(max_wait_ms, backoff_ms * 2 ** tried)
        if (wait > max_wait_ms) throw storageError(error)
        await sleep(wait, signal)
      }
    }
  }

  // No cause is kept: a library's error can hold the request with its headers.
  function storageError(error: unknown): StorageError {
    const kind = error instanceof StorageError ? error.kind : 'unavailable'
    return new StorageError(kind, `The ${driver} embedder (${provider.place}) ${redact(messageOf(error))}`)
  }

  await attempt(['.'], new AbortController().signal, Math.min(PROBE_MS, timeout_ms)).catch((error) => {
    if (!(error instanceof RequestFailure) || error.kind === 'refused') throw storageError(error)
  })

  const queue = openQueue(concurrency, persist)
  return {
    driver,
    id: provider.id,
    effective_dimensions: DIMENSIONS,
    noise_distance: limits.noise_distance ?? traits.noise_distance,
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

/** @throws StorageError `invalid` for another length; Error for what is no list of vectors */
function read(answer: unknown, count: number): Float32Array[] {
  if (!Array.isArray(answer) || answer.length !== count) throw new Error(`gave no list of ${count} vectors`)
  return answer.map((values: unknown) => {
    if (!Array.isArray(values) || !values.every(Number.isFinite))
      throw new Error('gave a vector that is no list of numbers')
    if (values.length !== DIMENSIONS)
      throw new StorageError('invalid', `gives vectors of ${values.length} dimensions; ${DIMENSIONS} are needed`)
    const length = Math.hypot(...values)
    if (length === 0) throw new Error('gave a vector of length 0')
    return Float32Array.from(values, (value: number) => value / length)
  })
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

// Requests to a provider whose failures say what happened, whether trying again helps, and never the key.

/**
 * - `away`: not reached, too busy or broken; the same request may go through later.
 * - `slow`: no whole answer within the time given.
 * - `refused`: the same request will be refused again.
 */
export type FailureKind = 'away' | 'slow' | 'refused'

/** A request that failed. Its message is as the provider wrote it: redact before showing it to anyone. */
export class RequestFailure extends Error {
  readonly kind: FailureKind
  /** How long the provider asked to be left alone, in milliseconds. */
  readonly wait_ms: number | undefined

  constructor(kind: FailureKind, message: string, wait_ms?: number) {
    super(message)
    this.name = 'RequestFailure'
    this.kind = kind
    this.wait_ms = wait_ms
  }
}

const KEPT_CHARS = 300

/**
 * Like fetch, with the body already here, and a failure for every answer that is not a success.
 * @throws RequestFailure
 * @throws the signal's reason
 */
export async function request(url: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  let response: Response
  let body: string
  try {
    // A redirect would carry the key to another place.
    response = await fetch(url, { ...init, signal, redirect: 'manual' })
    body = await response.text()
  } catch (error) {
    signal.throwIfAborted()
    throw new RequestFailure('away', `can't be reached: ${messageOf(error)}`)
  }
  const { status, headers } = response
  if (response.ok) return new Response(body, { status, headers: { 'content-type': headers.get('content-type') ?? '' } })
  const kind = status === 429 || status >= 500 ? 'away' : 'refused'
  throw new RequestFailure(kind, `answered ${status}${body && `: ${body}`}`, waitOf(headers.get('retry-after')))
}

/** Seconds or a date, as milliseconds from now. */
function waitOf(header: string | null): number | undefined {
  if (!header) return
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What must not be shown: the key, and what an address may carry in its place. */
export const secretsOf = (key: string | undefined, url: URL | undefined): string[] => [
  ...(key ? [key] : []),
  ...[...(url?.searchParams.values() ?? [])].filter((value) => value.length >= 8),
]

/** Takes every secret out of a text, in the spellings that a server echoes, and then cuts it: a cut key is still a piece of it. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), btoa(secret)])
    .sort((a, b) => b.length - a.length)
  return (text) => {
    const clean = spellings.reduce((rest, spelling) => rest.replaceAll(spelling, '[key]'), text)
    const line = clean.replace(/[\s\p{Cc}]+/gu, ' ').trim()
    return line.length > KEPT_CHARS ? `${line.slice(0, KEPT_CHARS)}…` : line
  }
}

/** @throws StorageError `invalid`, without the key */
export function checkKey(driver: string, key: string | undefined): void {
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new StorageError('invalid', `The api_key of the ${driver} embedder has a character that no header can carry`)
}

/** @throws StorageError `invalid` */
export function checkUrl(driver: string, url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new StorageError('invalid', `The url of the ${driver} embedder is no http or https address`)
  if (parsed.username || parsed.password)
    throw new StorageError('invalid', `The url of the ${driver} embedder holds a user or password: use api_key`)
  return parsed
}

// What is known about models that remote embedders serve.

export interface ModelTraits {
  /** Written before a question. */
  query_prefix: string
  /** Written before everything else. */
  document_prefix: string
  noise_distance: number
  /** The model has a longer vector by default and must be asked for 768. */
  ask_for_length: boolean
}

const plain: ModelTraits = {
  query_prefix: '',
  document_prefix: '',
  // Errs on the side of showing a hit. Models differ: state `noise_distance` for one that is not listed below.
  noise_distance: 0.75,
  ask_for_length: false,
}

/** Found by a part of the name, which has another owner or tag with every server. The distances are estimates. */
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
