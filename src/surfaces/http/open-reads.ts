/** Paths that can be read without credentials, rate-limited by address. */
import { CstpError } from '../../../sdk/errors.ts'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import { clientAddress } from '../../core/caller.ts'
import type { RateLimiter } from './limits.ts'
import { plainError, type Route, tooMany, type Visit } from './route.ts'

export interface OpenReads {
  /** Limits the reads of an address without credentials. */
  reads: RateLimiter
  trust_proxy: number
}

/** Maps an error of a method to plain HTTP. */
function refusal(error: unknown): Response {
  const isDamaged = error instanceof CstpError ? error.data?.kind === 'corrupt' : isStorageError(error, 'corrupt')
  if (isDamaged) return plainError(500, 'log_damaged', 'The log contradicts itself; see the log of the server')
  if (!(error instanceof CstpError)) throw error
  if (error.error === 'invalid_params') return plainError(400, 'invalid_params', error.message)
  return plainError(500, 'internal_error', error.message)
}

export const openRead = (
  { reads, trust_proxy }: OpenReads,
  handle: (request: Request, visit: Visit) => Promise<Response> | Response,
): Route => ({
  methods: ['GET', 'HEAD'],
  async handle(request, visit) {
    const from = clientAddress(visit.address(), request.headers.get('x-forwarded-for'), trust_proxy)
    const wait = reads.take(from, 1)
    if (wait > 0) return tooMany(wait, 'Too many requests')
    try {
      return await handle(request, visit)
    } catch (error) {
      return refusal(error)
    }
  },
})
