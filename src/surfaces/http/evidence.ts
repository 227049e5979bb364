/** The evidence log over plain HTTP: what witnesses and auditors fetch without credentials, and the bundles, which need them. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { Dispatch } from '../../calls/dispatch.ts'
import type { Caller } from '../../core/caller.ts'
import { ledgerRoutes, type PublicLedger } from './ledger.ts'
import type { OpenReads } from './open-reads.ts'
import { plainError, type Route, type Visit } from './route.ts'

export interface EvidenceOptions extends OpenReads {
  dispatch: Dispatch
  /** C2SP verifier key of the log. */
  verifier_key: string
  /** Folder of the bundles. */
  bundle_dir: string
}

/** Caller of reads without credentials. No configured agent can have this name: it contains a colon. */
const anyone: Caller = { agent: ':anyone', scopes: new Set(['read']), tracked: false }
/** Reads without credentials share a checkpoint for this long, so that they can't cause a signature each. */
const max_age_seconds = 1

const get = ['GET', 'HEAD']

export function evidenceRoutes(options: EvidenceOptions): Record<string, Route> {
  const { dispatch, verifier_key, bundle_dir } = options

  const call = (method: string, params: object, { newRequestId, signal }: Visit) =>
    dispatch({ method, params, caller: anyone, request_id: newRequestId(), signal })
  const ledger: PublicLedger = {
    verifier_key,
    async checkpoint(visit) {
      const { note } = (await call('cstp.getCheckpoint', { max_age_seconds }, visit)) as { note: string }
      return note
    },
    consistency: (old, size, visit) =>
      call('cstp.getConsistencyProof', { old, ...(size !== undefined && { new: size }) }, visit),
  }
  return {
    ...ledgerRoutes({ prefix: '/evidence', key: '/.well-known/cstp-evidence-key' }, ledger, options),
    '/evidence/bundles/': {
      methods: get,
      scope: 'evidence',
      sessions: true,
      handle: (request, { path }) => serveBundle(bundle_dir, path.slice('/evidence/bundles/'.length), request.method),
    },
  }
}

// Files of the bundle folder: served by plain name only, never through a symbolic link.

const types: Record<string, string> = { '.json': 'application/json', '.pdf': 'application/pdf' }

/** The form of names that exports produce; a name that needs an escape in a URL does not match. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,250}$/

const notThere = (): Response => plainError(404, 'not_found', 'There is no bundle of that name')

/** @param name the rest of the URL's path, as sent @param method GET or HEAD */
async function serveBundle(folder: string, name: string, method: string): Promise<Response> {
  const type = types[extname(name)]
  if (!plainName.test(name) || type === undefined) return notThere()
  // Opened before it is checked: the file that was checked is the one served, even if the folder changes meanwhile.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(join(folder, name), flags).catch(() => null)
  if (file === null) return notThere()
  const info = await file.stat()
  if (!info.isFile()) {
    await file.close()
    return notThere()
  }
  const headers = {
    'content-type': type,
    'content-length': String(info.size),
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  }
  if (method === 'HEAD') {
    await file.close()
    return new Response(null, { headers })
  }
  const stream = file.createReadStream({ autoClose: true, highWaterMark: 262_144 })
  return new Response(Readable.toWeb(stream) as unknown as ReadableStream, { headers })
}
