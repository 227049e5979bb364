/** The evidence log over plain HTTP: what witnesses and auditors fetch without credentials, and the bundles, which need them. */

import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { Dispatch } from '../../calls/dispatch.ts'
import type { Caller } from '../../core/caller.ts'
import { type OpenReads, openRead } from './open-reads.ts'
import { json, plainError, type Route, type Visit } from './route.ts'

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

const textHeaders = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' }
const get = ['GET', 'HEAD']

/** A size in a query: decimal digits, at most once. Undefined if absent, null if invalid. */
function sizeIn(query: URLSearchParams, name: string): number | null | undefined {
  const [text, ...more] = query.getAll(name)
  if (text === undefined) return undefined
  return /^\d{1,15}$/.test(text) && more.length === 0 ? Number(text) : null
}

export function evidenceRoutes(options: EvidenceOptions): Record<string, Route> {
  const { dispatch, verifier_key, bundle_dir } = options

  const open = (handle: Parameters<typeof openRead>[1]): Route => openRead(options, handle)
  const call = (method: string, params: object, { newRequestId, signal }: Visit) =>
    dispatch({ method, params, caller: anyone, request_id: newRequestId(), signal })

  return {
    '/.well-known/cstp-evidence-key': open(() => new Response(`${verifier_key}\n`, { headers: textHeaders })),

    '/evidence/checkpoint': open(async (_, visit) => {
      const { note } = (await call('cstp.getCheckpoint', { max_age_seconds }, visit)) as { note: string }
      return new Response(note, { headers: textHeaders })
    }),

    '/evidence/consistency': open(async (request, visit) => {
      // The URL's host comes from the client and need not be valid, so only the query is parsed.
      const query = new URLSearchParams(/\?([^#]*)/.exec(request.url)?.[1])
      const unknown = [...query.keys()].find((name) => name !== 'old' && name !== 'new')
      if (unknown !== undefined)
        return plainError(400, 'invalid_params', `There is no parameter ${unknown.slice(0, 64)}`)
      const old = sizeIn(query, 'old')
      const size = sizeIn(query, 'new')
      if (typeof old !== 'number' || size === null)
        return plainError(400, 'invalid_params', 'Expected ?old=&new= with two sizes; new may be left out')
      return json(await call('cstp.getConsistencyProof', { old, ...(size !== undefined && { new: size }) }, visit))
    }),

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
