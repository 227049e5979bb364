/**
 * Signed requests: a client shows that it knows its token without sending it, and the answer shows that the service knows it too. So another
 * program on the service's port learns no token, and nothing that it answers counts as a verdict. `plugin/hooks/cstp-hook.mjs` has the other side.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Agents, Caller } from './caller.ts'
import { sha256Hex } from './digest.ts'

/** The header of an answer with its proof. */
export const proofHeader = 'cstp-proof'
/** How far the clocks of client and service may differ; a signature is accepted once within this time. */
const windowMs = 60_000
/** Signatures that are remembered before expired ones are dropped. */
const maxRemembered = 50_000

interface Signed {
  caller: Caller
  key: Buffer
  nonce: string
  body_sha256: string
}

/** The key that client and service share: the service keeps only the SHA-256 of a token. */
export const keyOf = (token: string): Buffer => hash('sha256', token, 'buffer')

export const macOf = (key: Buffer, parts: readonly (string | number)[]): string =>
  createHmac('sha256', key).update(parts.join('\n')).digest('hex')

/** The proof of an answer. @param body null for a stream */
export const proofOf = (key: Buffer, nonce: string, status: number, body: Uint8Array | null): string =>
  macOf(key, ['cstp answer', nonce, status, body === null ? 'stream' : sha256Hex(body)])

const header = /^CSTP-HMAC ([^:\s]+):(\d{1,16}):([0-9a-f]{32}):([0-9a-f]{64}):([0-9a-f]{64})$/

const isEqual = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

export interface Signatures {
  /** The caller of a signed request; null if it is not signed, or not by a known agent, too old, or repeated. */
  caller(request: Request): Caller | null
  /** Whether the body is the one that was signed; true for a request that is not signed. */
  fits(request: Request, body: Uint8Array): boolean
  /** The response with its proof, if the request was signed. */
  prove(request: Request, response: Response): Response | Promise<Response>
}

export function openSignatures(agents: Agents, now: () => number): Signatures {
  const signed = new WeakMap<Request, Signed>()
  const seen = new Map<string, number>()

  /** Whether this nonce is new. Only nonces of valid signatures get here. */
  function isFirst(nonce: string, at: number): boolean {
    if (seen.has(nonce)) return false
    if (seen.size >= maxRemembered) for (const [one, until] of seen) if (until < at) seen.delete(one)
    seen.set(nonce, at + 2 * windowMs)
    return true
  }

  return {
    caller(request) {
      const known = signed.get(request)
      if (known !== undefined) return known.caller
      const given = header.exec(request.headers.get('authorization') ?? '')
      if (!given) return null
      const [, name = '', time = '', nonce = '', body_sha256 = '', mac = ''] = given
      if (Math.abs(now() - Number(time)) > windowMs) return null
      const target = request.url.slice(request.url.indexOf('/', request.url.indexOf('://') + 3))
      const parts = ['cstp request', request.method, target, time, nonce, body_sha256]
      const named = nameIn(name)
      const agent = agents().find((one) => one.caller.agent === named && isEqual(mac, macOf(one.hash, parts)))
      if (agent === undefined || !isFirst(nonce, now())) return null
      agent.used?.()
      signed.set(request, { caller: agent.caller, key: agent.hash, nonce, body_sha256 })
      return agent.caller
    },
    fits(request, body) {
      const found = signed.get(request)
      return found === undefined || sha256Hex(body) === found.body_sha256
    },
    prove(request, response) {
      const found = signed.get(request)
      return found === undefined ? response : proven(found, response)
    },
  }
}

async function proven({ key, nonce }: Signed, response: Response): Promise<Response> {
  const { status, headers } = response
  // Other answers may be long or endless: their proof is that of the status alone.
  if (!headers.get('content-type')?.startsWith('application/json')) {
    headers.set(proofHeader, proofOf(key, nonce, status, null))
    return response
  }
  const body = new Uint8Array(await response.arrayBuffer())
  headers.set(proofHeader, proofOf(key, nonce, status, body))
  return new Response(status === 204 || status === 304 ? null : body, { status, headers })
}

/** The agent's name, which may contain any letters. */
function nameIn(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}
