/** GitHub's webhook: signature, limits and responses. Deliveries are interpreted elsewhere. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { CstpError } from '../../../sdk/errors.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { clientAddress } from '../../core/caller.ts'
import { sha256Hex } from '../../core/digest.ts'
import { describeError, type Log } from '../../core/log.ts'
import type { Guesses } from './limits.ts'
import { json, plainError, type Route, tooMany } from './route.ts'

/** GitHub's own limit. */
export const largestDelivery = 25 * 1_048_576
const jsonType = /^application\/json\s*(?:;|$)/i
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** A delivery with a valid signature. */
export interface Delivery {
  /** `X-GitHub-Delivery`. */
  id: string
  /** `X-GitHub-Event`. */
  kind: string
  /** SHA-256 of the body as sent, lowercase hex. */
  body_sha256: string
  body: unknown
}

export type Delivered =
  | { outcome: 'ingested' | 'nothing' | 'repeated'; ingested: number; first_seq: number | null }
  | { outcome: 'refused'; reason: string }

export interface GithubOptions {
  secret: string
  guesses: Guesses
  trust_proxy: number
  log: Log
  /** Called for every delivery. */
  observe(result: string): void
  deliver(delivery: Delivery, request: { request_id: string; signal: AbortSignal }): Promise<Delivered>
}

/** The signature in a header of the form `sha256=…`; null for anything else. */
const signatureIn = (header: string | null): Buffer | null => {
  const digits = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '')?.[1]
  return digits === undefined ? null : Buffer.from(digits, 'hex')
}

/** Whether the signature is the HMAC of the body, compared in constant time. */
const signed = (secret: string, body: Uint8Array, signature: Buffer): boolean =>
  timingSafeEqual(createHmac('sha256', secret).update(body).digest(), signature)

/** The message that GitHub shows with the delivery. */
function message(kind: string, { outcome, ingested, first_seq }: Exclude<Delivered, { reason: string }>): string {
  if (outcome === 'repeated') return `This delivery was ingested before, from event ${first_seq} on; nothing was added`
  if (outcome === 'nothing') return `Nothing of this ${kind} delivery is recorded`
  return `${ingested} ${ingested === 1 ? 'event was' : 'events were'} ingested`
}

export function githubRoute(options: GithubOptions): Route {
  const { secret, guesses, trust_proxy, log, observe, deliver } = options

  const refuse = (status: number, error: string, reason: string, headers?: Record<string, string>): Response => {
    observe(error)
    return plainError(status, error, reason, headers)
  }

  /** The header's value if it is 1 to 128 printable ASCII characters without spaces; null otherwise. */
  const token = (request: Request, name: string): string | null =>
    /^[\x21-\x7e]{1,128}$/.exec(request.headers.get(name) ?? '')?.[0] ?? null

  return {
    methods: ['POST'],
    async handle(request, { address, body, newRequestId, signal }) {
      const unsigned = (): Response => {
        const from = clientAddress(address(), request.headers.get('x-forwarded-for'), trust_proxy)
        const wait = guesses.failed('webhook', null, from)
        if (wait > 0) {
          observe('rate_limited')
          return tooMany(wait, 'Too many failed signatures')
        }
        const reason = 'X-Hub-Signature-256 must be the signature of this body with the secret of the webhook'
        return refuse(401, 'unauthorized', reason)
      }
      const signature = signatureIn(request.headers.get('x-hub-signature-256'))
      if (signature === null) return unsigned()
      const bytes = await body(largestDelivery)
      if (bytes instanceof Response) {
        observe(bytes.status === 413 ? 'payload_too_large' : 'unavailable')
        return bytes
      }
      if (!signed(secret, bytes, signature)) return unsigned()
      if (!jsonType.test(request.headers.get('content-type') ?? ''))
        return refuse(
          415,
          'unsupported_media_type',
          'The content type must be application/json: choose it in the settings of the webhook',
        )
      const kind = token(request, 'x-github-event')
      if (kind === null) return refuse(400, 'invalid_request', 'X-GitHub-Event must name the kind of the event')
      const id = token(request, 'x-github-delivery')
      if (id === null) return refuse(400, 'invalid_request', 'X-GitHub-Delivery must be the id of the delivery')
      let parsed: unknown
      try {
        parsed = JSON.parse(strictUtf8.decode(bytes))
      } catch {
        return refuse(400, 'parse_error', 'The body is not JSON in UTF-8')
      }
      if (kind === 'ping') {
        observe('ping')
        return json({
          ingested: 0,
          first_seq: null,
          message: 'pong: the signature is right, deliveries will be recorded',
        })
      }
      const request_id = newRequestId()
      const body_sha256 = sha256Hex(bytes)
      try {
        const delivered = await deliver({ id, kind, body_sha256, body: parsed }, { request_id, signal })
        if (delivered.outcome === 'refused') return refuse(422, 'unprocessable', delivered.reason)
        observe(delivered.outcome)
        const { ingested, first_seq } = delivered
        return json({ ingested, first_seq, message: message(kind, delivered) })
      } catch (error) {
        if (error instanceof CstpError && error.error === 'rate_limited') {
          observe(error.error)
          return tooMany(Number(error.data?.retry_after), error.message)
        }
        const damaged = error instanceof CstpError
        if (!damaged && !isStorageError(error)) throw error
        log('error', 'a delivery could not be ingested', { request_id, delivery_id: id, ...describeError(error) })
        if (damaged) return refuse(500, error.error, error.message)
        const reason = 'The evidence can not be written now: nothing was ingested, deliver it again later'
        return refuse(503, 'unavailable', reason, { 'retry-after': '60' })
      }
    },
  }
}
