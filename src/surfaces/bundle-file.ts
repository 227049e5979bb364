/** Serves a file of the bundle folder: only by a plain name, never through a link. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { plainError } from './http/answers.ts'

const types: Record<string, string> = { '.json': 'application/json', '.pdf': 'application/pdf' }

/** A name of the form that exports give; whatever needs an escape in a URL is none. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,250}$/

const notThere = (): Response => plainError(404, 'not_found', 'There is no bundle of that name')

/** @param name the rest of the URL's path, as it was sent @param method GET or HEAD */
export async function serveBundle(folder: string, name: string, method: string): Promise<Response> {
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
