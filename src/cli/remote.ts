/** Calls methods of a server over HTTP. */
import { credentials, foreign, serviceOf, withService } from '../../plugin/hooks/cstp-hook.mjs'
import { CstpError, codes, type ErrorName } from '../../sdk/errors.ts'
import type { Configuration, Settings } from '../app/config/config.ts'
import { type Caller, mcpHeader, sessionHeader } from '../core/caller.ts'
import { checkKept } from '../core/params.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { adminAgent, localAgent, readToken, tokenPath } from '../core/token-file.ts'
import { Failure, misuse } from './failure.ts'

/** Calls a method by its wire name; `signal` aborts the call. @throws CstpError if the method refuses, Failure if no server answers */
export type Send = (method: string, params: unknown, signal?: AbortSignal, mcp?: Caller['mcp']) => Promise<unknown>
/** A request with the same credentials, for resources that are not methods; GET unless it says otherwise. */
export type Get = (path: string, init?: { method: 'POST'; body: string }) => Promise<Response>

/** A hook has to answer before its client gives up; a command may wait for a slow machine. */
const startMs = 30_000

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/
/** Whether an address is one of this machine. */
export const isHere = (url: string): boolean => loopback.test(new URL(url).hostname)

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

/** The address given, else that of the settings, else that of the service that the data directory has. */
export function addressOf(given: string | undefined, { settings, sources }: Configuration): string {
  const isDefault = sources.host === 'default' && sources.port === 'default'
  return serverUrl(given ?? (isDefault ? serviceOf(settings.data_dir)?.url : undefined), settings)
}

interface Login {
  agent: string
  token: string
}

/** The login of an agent with a token file in the data directory. @throws Failure if there is no such file */
async function ownLogin(data_dir: string, agent: string): Promise<Login> {
  const token = await readToken(data_dir, agent).catch((error: Error) => {
    throw new Failure(`the token can't be read: ${error.message}`)
  })
  if (token === null)
    throw new Failure(
      `there is no token in ${tokenPath(data_dir, agent)}: start the server once (cstp serve), give --agent and --token (CSTP_AGENT, CSTP_TOKEN), or use --local`,
    )
  return { agent, token }
}

/** The given agent and token, else the token from the server's data directory. */
async function loginOf(agent = localAgent, token: string | undefined, data_dir: string): Promise<Login> {
  if (token !== undefined) return { agent, token }
  if (agent !== localAgent && agent !== adminAgent)
    throw misuse(`agent ${agent} needs a token: give --token or set CSTP_TOKEN`)
  return ownLogin(data_dir, agent)
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
      throw new Failure(
        `${url} refused the credentials: give --agent and --token, or set CSTP_AGENT and CSTP_TOKEN; it may be the service of another data directory`,
      )
    if (response.status === 413) throw new CstpError('invalid_request', body.message ?? 'the body is too large')
    if (typeof body.error === 'string') throw new Failure(`${url}: ${body.message ?? body.error}`)
    if (response.ok && 'result' in body) return body.result
  }
  throw new Failure(`${url} is not a cstp server (HTTP ${response.status})`)
}

/** The response, if it is from a program that knows the token. @throws Failure otherwise */
async function proven(
  response: Response,
  proves: ReturnType<typeof credentials>['proves'],
  url: string,
  data_dir: string,
): Promise<Response> {
  const { status, headers } = response
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false
  const body = isJson ? new Uint8Array(await response.arrayBuffer()) : null
  // A refusal of the credentials allows nothing, and can't be proven by a service that does not know them.
  if (status !== 401 && !proves(status, headers.get('cstp-proof'), body))
    throw new Failure(foreign(url, data_dir, status))
  return body === null ? response : new Response(body, { status, headers })
}

export async function openRemote(options: {
  url: string
  agent?: string | undefined
  token?: string | undefined
  /** Directory with the tokens of the agents local and admin. */
  data_dir: string
  /** For a person's calls: makes those that need the scope admin or approve, or all, as agent admin, if its token file exists. */
  admin?: 'if_needed' | 'always'
  /** Environment of the service of the data directory, which is started if it does not run; absent: it is not started. */
  env?: Record<string, string | undefined>
  /** Names the session of the client in each call. */
  session?: string
  signal?: AbortSignal
}): Promise<{ send: Send; get: Get }> {
  const { url, agent, token, data_dir, signal } = options
  // Calls that local may not make are retried as admin, so that operators need no flags. By default that token never leaves the machine.
  const mayBeAdmin =
    options.admin !== undefined &&
    agent === undefined &&
    token === undefined &&
    isHere(url) &&
    (await readToken(data_dir, adminAgent).catch(() => null)) !== null
  const chosen = mayBeAdmin && options.admin === 'always' ? adminAgent : agent
  const login = await loginOf(chosen, token, data_dir)
  const asAdmin = new Set<string>()
  const isLocal = isHere(url)
  const request = async (path: string, by: Login, init: RequestInit & { body?: string } = {}): Promise<Response> => {
    const ended = init.signal && signal ? AbortSignal.any([init.signal, signal]) : (init.signal ?? signal)
    const ask = async (at: string): Promise<Response> => {
      const { method = 'GET', body = '' } = init
      // A service on this machine is not protected by TLS: it gets a signature, and proves that it knows the token.
      const signed = isLocal ? credentials({ url: at, ...by, method, path, body }) : null
      const authorization = signed?.authorization ?? `Bearer ${by.agent}:${by.token}`
      // No time limit, since a reindex may take long. No redirects, since the token is only for this server.
      const response = await fetch(`${at}${path}`, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), authorization },
        redirect: 'manual',
        timeout: false,
        ...(ended && { signal: ended }),
      } as RequestInit)
      return signed ? proven(response, signed.proves, at, data_dir) : response
    }
    try {
      return await withService(
        {
          dir: data_dir,
          url,
          env: options.env ?? { CSTP_IDLE_EXIT: '0' },
          ms: startMs,
          ...(ended && { signal: ended }),
        },
        ask,
      )
    } catch (error) {
      ended?.throwIfAborted()
      if (error instanceof Failure) throw error
      const { code = (error as Error).message, isDown } = error as { code?: string; isDown?: true }
      if (!isDown) throw new Failure(`the connection to ${url} failed (${code})`)
      throw new Failure(
        serviceOf(data_dir)?.url === url
          ? `${(error as Error).message}; or use --local`
          : `nothing listens at ${url}: start a server with cstp serve, give another address with --url, or use --local`,
      )
    }
  }
  let calls = 0
  return {
    async send(method, params, given, mcp) {
      // JSON would turn an infinite number into null, which means that it was not given.
      checkKept(params)
      const body = JSON.stringify({ jsonrpc: '2.0', id: calls++, method, params })
      const headers = {
        'content-type': 'application/json',
        ...(options.session !== undefined && { [sessionHeader]: options.session }),
        ...(mcp && { [mcpHeader]: `${mcp.since_ms}:${mcp.client}` }),
      }
      const post = async (by: Login) =>
        read(await request('/cstp', by, { method: 'POST', headers, body, ...(given && { signal: given }) }), url)
      const admin = async () => post(await ownLogin(data_dir, adminAgent))
      if (asAdmin.has(method)) return admin()
      try {
        return await post(login)
      } catch (error) {
        const missing = error instanceof CstpError && error.error === 'forbidden' ? error.data?.scope : undefined
        const refused = missing === 'admin' || missing === 'approve'
        if (!mayBeAdmin || !refused) throw error
        asAdmin.add(method)
        return admin()
      }
    },
    get: (path, init) => request(path, login, init),
  }
}
