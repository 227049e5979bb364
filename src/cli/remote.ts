/** Calls methods of a server over HTTP. */
import { CstpError, codes, type ErrorName } from '../../sdk/errors.ts'
import type { Settings } from '../app/config/config.ts'
import { checkKept } from '../core/params.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { adminAgent, localAgent, readToken, tokenPath } from '../core/token-file.ts'
import { Failure, misuse } from './failure.ts'

/** Calls a method by its wire name; `signal` aborts the call. @throws CstpError if the method refuses, Failure if no server answers */
export type Send = (method: string, params: unknown, signal?: AbortSignal) => Promise<unknown>
/** A GET request with the same credentials, for resources that are not methods. */
export type Get = (path: string) => Promise<Response>

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/
const everywhere = new Set(['0.0.0.0', '::', '[::]'])

/** Address of the server to call. @throws Failure if it is invalid or unknown */
export function serverUrl(given: string | undefined, { host, port }: Pick<Settings, 'host' | 'port'>): string {
  if (given !== undefined) {
    const parts = /^https?:\/\//.test(given) && URL.canParse(given) ? new URL(given) : null
    const received = JSON.stringify(withoutSecrets(given))
    if (parts === null) throw misuse(`--url needs an address such as http://127.0.0.1:9991, received ${received}`)
    if (parts.username || parts.password || parts.search || parts.hash)
      throw misuse(`--url takes no credentials, query or fragment, received ${received}; give --agent and --token`)
    return given.replace(/(?<!\/)\/+$/, '').replace(/\/cstp$/, '')
  }
  if (port === 0)
    throw misuse('the port of the settings is 0, so the server chose a free one: give its address with --url')
  const reachable = everywhere.has(host) ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** The `Authorization` header for an agent with a token file in the data directory. @throws Failure if there is no such file */
async function ownAuthorization(data_dir: string, agent: string): Promise<string> {
  const own = await readToken(data_dir, agent).catch((error: Error) => {
    throw new Failure(`the token can't be read: ${error.message}`)
  })
  if (own === null)
    throw new Failure(
      `there is no token in ${tokenPath(data_dir, agent)}: start the server once (cstp serve), give --agent and --token (CSTP_AGENT, CSTP_TOKEN), or use --local`,
    )
  return `Bearer ${agent}:${own}`
}

/** The `Authorization` header: the given agent and token, else the token from the server's data directory. */
async function authorization(agent = localAgent, token: string | undefined, data_dir: string): Promise<string> {
  if (token !== undefined) return `Bearer ${agent}:${token}`
  if (agent !== localAgent && agent !== adminAgent)
    throw misuse(`agent ${agent} needs a token: give --token or set CSTP_TOKEN`)
  return ownAuthorization(data_dir, agent)
}

const names = new Map(Object.entries(codes).map(([name, code]) => [code as number, name as ErrorName]))

interface Body {
  result?: unknown
  error?: string | { code?: number; message?: string; data?: Record<string, unknown> }
  message?: string
}

/** The result of a response. @throws CstpError if the server refused the call, Failure for any other problem */
async function read(response: Response, url: string): Promise<unknown> {
  const body = (await response.json().catch(() => null)) as Body | null
  if (body !== null && typeof body === 'object') {
    if (typeof body.error === 'object') {
      const { code = 0, message = 'no message', data } = body.error
      const wait = response.headers.get('retry-after')
      const more = wait === null ? data : { ...data, retry_after: Number(wait) }
      throw new CstpError(names.get(code) ?? 'internal_error', message, more)
    }
    if (response.status === 401)
      throw new Failure(`${url} refused the credentials: give --agent and --token, or set CSTP_AGENT and CSTP_TOKEN`)
    if (response.status === 413) throw new CstpError('invalid_request', body.message ?? 'the body is too large')
    if (typeof body.error === 'string') throw new Failure(`${url}: ${body.message ?? body.error}`)
    if (response.ok && 'result' in body) return body.result
  }
  throw new Failure(`${url} is not a cstp server (HTTP ${response.status})`)
}

export async function openRemote(options: {
  url: string
  agent?: string | undefined
  token?: string | undefined
  /** Directory with the tokens of the agents local and admin. */
  data_dir: string
  /** For a person's calls: makes those that need the scope admin or approve, or all, as agent admin, if its token file exists. */
  admin?: 'if_needed' | 'always'
  signal?: AbortSignal
}): Promise<{ send: Send; get: Get }> {
  const { url, agent, token, data_dir, signal } = options
  // Calls that local may not make are retried as admin, so that operators need no flags. By default that token never leaves the machine.
  const mayBeAdmin =
    options.admin !== undefined &&
    agent === undefined &&
    token === undefined &&
    loopback.test(new URL(url).hostname) &&
    (await readToken(data_dir, adminAgent).catch(() => null)) !== null
  const chosen = mayBeAdmin && options.admin === 'always' ? adminAgent : agent
  const headers = { authorization: await authorization(chosen, token, data_dir) }
  const asAdmin = new Set<string>()
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const ended = init.signal && signal ? AbortSignal.any([init.signal, signal]) : (init.signal ?? signal)
    try {
      // No time limit, since a reindex may take long. No redirects, since the token is only for this server.
      return await fetch(`${url}${path}`, {
        ...init,
        redirect: 'manual',
        timeout: false,
        ...(ended && { signal: ended }),
      } as RequestInit)
    } catch (error) {
      ended?.throwIfAborted()
      const { code = (error as Error).message } = error as { code?: string }
      throw new Failure(
        /refused/i.test(code)
          ? `nothing listens at ${url}: start a server with cstp serve, give another address with --url, or use --local`
          : `the connection to ${url} failed (${code})`,
      )
    }
  }
  let calls = 0
  return {
    async send(method, params, given) {
      // JSON would turn an infinite number into null, which means that it was not given.
      checkKept(params)
      const body = JSON.stringify({ jsonrpc: '2.0', id: calls++, method, params })
      const post = async (own: { authorization: string }) => {
        const json = { ...own, 'content-type': 'application/json' }
        return read(
          await request('/cstp', { method: 'POST', headers: json, body, ...(given && { signal: given }) }),
          url,
        )
      }
      const admin = async () => post({ authorization: await ownAuthorization(data_dir, adminAgent) })
      if (asAdmin.has(method)) return admin()
      try {
        return await post(headers)
      } catch (error) {
        const missing = error instanceof CstpError && error.error === 'forbidden' ? error.data?.scope : undefined
        const refused = missing === 'admin' || missing === 'approve'
        if (!mayBeAdmin || !refused) throw error
        asAdmin.add(method)
        return admin()
      }
    },
    get: (path) => request(path, { headers }),
  }
}
