/** The thread as static files over HTTP, without credentials: its entries are commitments and disclose nothing. @see C2SP tlog-tiles */
import { type OpenReads, openRead } from './open-reads.ts'
import { plainError, type Route } from './route.ts'

/** The log as files. */
interface StaticLog {
  verifier_key: string
  checkpoint(): Promise<string>
  tile(path: string): Promise<Uint8Array<ArrayBuffer> | null>
}

const text = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' }
/** Log content never changes, in full or in partial tiles. */
const forever = { 'content-type': 'application/octet-stream', 'cache-control': 'public, max-age=31536000, immutable' }

export const logRoutes = (log: StaticLog, reads: OpenReads): Record<string, Route> => ({
  '/.well-known/cstp-log-key': openRead(reads, () => new Response(`${log.verifier_key}\n`, { headers: text })),
  '/log/checkpoint': openRead(reads, async () => new Response(await log.checkpoint(), { headers: text })),
  '/log/tile/': openRead(reads, async (_, { path }) => {
    const bytes = await log.tile(path.slice('/log/'.length))
    return bytes
      ? new Response(bytes, { headers: forever })
      : plainError(404, 'not_found', 'The published log has no such tile')
  }),
})
