/**
 * A ledger over plain HTTP, without credentials: its key, its checkpoint, its tiles and its consistency proofs. Entries are hashes and
 * disclose nothing. @see C2SP tlog-tiles, tlog-checkpoint
 */
import { type OpenReads, openRead } from './open-reads.ts'
import { json, plainError, type Route, type Visit } from './route.ts'

/** The public part of a ledger. */
export interface PublicLedger {
  /** C2SP verifier key. */
  verifier_key: string
  /** The signed note of the published checkpoint. */
  checkpoint(visit: Visit): Promise<string>
  /** A tile or a bundle of entries, `tile/…`; null if the signed log has none. */
  tile?(path: string): Promise<Uint8Array<ArrayBuffer> | null>
  /** The proof that the log has only grown from one size to another. @param size the current one if it is not given */
  consistency?(old: number, size: number | undefined, visit: Visit): Promise<unknown>
}

const text = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' }
/** Log content never changes, in full or in partial tiles. */
const forever = { 'content-type': 'application/octet-stream', 'cache-control': 'public, max-age=31536000, immutable' }

/** A size in a query: decimal digits, at most once. Undefined if absent, null if invalid. */
function sizeIn(query: URLSearchParams, name: string): number | null | undefined {
  const [digits, ...more] = query.getAll(name)
  if (digits === undefined) return undefined
  return /^\d{1,15}$/.test(digits) && more.length === 0 ? Number(digits) : null
}

async function answerConsistency(
  request: Request,
  visit: Visit,
  prove: NonNullable<PublicLedger['consistency']>,
): Promise<Response> {
  // The URL's host comes from the client and need not be valid, so only the query is parsed.
  const query = new URLSearchParams(/\?([^#]*)/.exec(request.url)?.[1])
  const unknown = [...query.keys()].find((name) => name !== 'old' && name !== 'new')
  if (unknown !== undefined) return plainError(400, 'invalid_params', `There is no parameter ${unknown.slice(0, 64)}`)
  const old = sizeIn(query, 'old')
  const size = sizeIn(query, 'new')
  if (typeof old !== 'number' || size === null)
    return plainError(400, 'invalid_params', 'Expected ?old=&new= with two sizes; new may be left out')
  return json(await prove(old, size, visit))
}

/** @param prefix of the paths @param key path of the verifier key */
export function ledgerRoutes(
  { prefix, key }: { prefix: string; key: string },
  { verifier_key, checkpoint, tile, consistency }: PublicLedger,
  reads: OpenReads,
): Record<string, Route> {
  return {
    [key]: openRead(reads, () => new Response(`${verifier_key}\n`, { headers: text })),
    [`${prefix}/checkpoint`]: openRead(
      reads,
      async (_, visit) => new Response(await checkpoint(visit), { headers: text }),
    ),
    ...(consistency && {
      [`${prefix}/consistency`]: openRead(reads, (request, visit) => answerConsistency(request, visit, consistency)),
    }),
    ...(tile && {
      [`${prefix}/tile/`]: openRead(reads, async (_, { path }) => {
        const bytes = await tile(path.slice(prefix.length + 1))
        return bytes
          ? new Response(bytes, { headers: forever })
          : plainError(404, 'not_found', 'The published log has no such tile')
      }),
    }),
  }
}

/** The thread: the log of all acts. */
export const logRoutes = (log: PublicLedger, reads: OpenReads): Record<string, Route> =>
  ledgerRoutes({ prefix: '/log', key: '/.well-known/cstp-log-key' }, log, reads)
