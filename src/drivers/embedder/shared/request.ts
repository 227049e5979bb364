/** Requests to a provider. A failure says what happened and whether a retry helps, and never contains the key. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { hideAll, secretsIn } from '../../../core/secrets.ts'

/**
 * - `unavailable`: not reachable, too busy or broken; the same request may succeed later.
 * - `slow`: no complete answer within the timeout.
 * - `refused`: the same request will be refused again.
 */
type FailureKind = 'unavailable' | 'slow' | 'refused'

/** A failed request. The message contains the provider's text: redact it before it is shown. */
export class RequestFailure extends Error {
  readonly kind: FailureKind
  /** The pause that the provider asked for, in milliseconds. */
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
 * Like `fetch`, but waits for the whole body, and throws for every status that is not a success.
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
    throw new RequestFailure('unavailable', `can't be reached: ${messageOf(error)}`)
  }
  const { status, headers } = response
  if (response.ok) return new Response(body, { status, headers: { 'content-type': headers.get('content-type') ?? '' } })
  const kind = status === 429 || status >= 500 ? 'unavailable' : 'refused'
  throw new RequestFailure(kind, `answered ${status}${body && `: ${body}`}`, waitOf(headers.get('retry-after')))
}

/** Seconds or a date, as milliseconds from now. */
function waitOf(header: string | null): number | undefined {
  if (!header) return
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/** Texts that must not be shown: the key, and secrets in the address. */
export const secretsOf = (key: string | undefined, url: URL | undefined): string[] => [
  ...(key ? [key] : []),
  ...(url ? secretsIn(url.href) : []),
]

/** Removes every secret from a text, in all spellings that a server may echo, and only then truncates it: a truncated key would not be found. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const hide = hideAll(secrets, '[key]')
  return (text) => {
    const line = hide(text)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim()
    return line.length > KEPT_CHARS ? `${line.slice(0, KEPT_CHARS)}…` : line
  }
}

/** @throws StorageError `invalid`, without the key */
export function checkKey(driver: string, key: string | undefined): void {
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new StorageError(
      'invalid',
      `The api_key of the ${driver} embedder contains a character that is not allowed in a header`,
    )
}

/** @throws StorageError `invalid` */
export function checkUrl(driver: string, url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new StorageError('invalid', `The url of the ${driver} embedder is not an http or https address`)
  if (parsed.username || parsed.password)
    throw new StorageError('invalid', `The url of the ${driver} embedder contains a user or password: use api_key`)
  return parsed
}
