/** The evidence log over plain HTTP: what witnesses and auditors fetch without credentials, and the bundles. */

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

/** Who reads without credentials. No configured agent can have this name: it holds a colon. */
const anyone: Caller = { agent: ':anyone', scopes: new Set(['read']), tracked: false }
/** Reads of the log without credentials share a look at it this long, so that they can't make it sign for each of them. */
const max_age_seconds = 1

const textHeaders = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' }
const get = ['GET', 'HEAD']

/** A size in a query: decimal digits, no more than once. Undefined where it is not given, null where it is something else. */
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
      // The host of the URL is the client's word, and need not be one.
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

// Serves a file of the bundle folder: only by a plain name, never through a link.

const types: Record<string, string> = { '.json': 'application/json', '.pdf': 'application/pdf' }

/** A name of the form that exports give; whatever needs an escape in a URL is none. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,250}$/

const notThere = (): Response => plainError(404, 'not_found', 'There is no bundle of that name')

/** @param name the rest of the URL's path, as it was sent @param method GET or HEAD */
async function serveBundle(folder: string, name: string, method: string): Promise<Response> {
  const type = types[extname(name)]
  if (!plainName.test(name) || type === undefined) return notThere()
  // Opened first and looked at then: what is served is what was checked, whatever the folder becomes meanwhile.
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
