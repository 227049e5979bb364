/** One exchange over HTTP: sends a body, reads the answer, and maps each status. */
import { ClientError, readError } from './errors.ts'
import type { ClientOptions } from './options.ts'

/** Sends once and resolves with the JSON of the answer. @throws ClientError, CstpError, or the signal's reason */
export type Exchange = (path: string, body: string | null, signal: AbortSignal) => Promise<unknown>

/** Allowed header values: for any other, the error of fetch would contain the value, and with it the token. */
const fits = /^[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\xa1-\xff]*[\x21-\x7e\xa1-\xff])?$/

/** The address of the service, without trailing slashes and `/cstp`. @throws TypeError */
function baseOf(url: string): string {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new TypeError('createClient: url must be an address such as http://127.0.0.1:9991')
  const { origin, pathname, username, password } = new URL(url)
  if (username || password) throw new TypeError('createClient: credentials belong in agent and token, not in the url')
  return origin + pathname.replace(/(?<!\/)\/+$/, '').replace(/\/cstp$/, '')
}

/** Seconds that an answer asks to wait; null if it does not, or gives a time, since clocks may differ. */
function retryAfterOf(response: Response): number | null {
  const given = response.headers.get('retry-after')
  return given !== null && /^\d+$/.test(given) ? Number(given) : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const member = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : undefined

/** @throws the error of the whole request, from its status or body */
function judge(response: Response, body: unknown, at: string): void {
  const { status } = response
  const retryAfter = retryAfterOf(response)
  const error = member(body, 'error')
  if (error !== null && typeof error === 'object') throw readError(error, retryAfter)
  const said = member(body, 'message')
  const more = { status, retryAfter }
  if (status === 401) throw new ClientError('unauthorized', `${at} refused the agent and its token (HTTP 401)`, more)
  if (status === 429) throw readError({ code: -32002, message: 'Rate limited' }, retryAfter)
  if (status >= 502 && status <= 504)
    throw new ClientError('unavailable', `${at} is unavailable (HTTP ${status})`, more)
  if (!response.ok)
    throw new ClientError('refused', `${at}: ${typeof said === 'string' ? said : 'refused'} (HTTP ${status})`, more)
  if (body === undefined) throw new ClientError('malformed', `${at} answered what is not JSON`, more)
}

/** @throws TypeError for an invalid option; its message does not contain the token */
export function createExchange(options: Pick<ClientOptions, 'url' | 'agent' | 'token' | 'fetch'>): Exchange {
  const base = baseOf(options.url)
  const { agent, token } = options
  if (!fits.test(agent) || agent.includes(':'))
    throw new TypeError('createClient: agent must be a name that fits a header and has no colon')
  if (!fits.test(token)) throw new TypeError('createClient: token is empty or does not fit a header')
  const send = options.fetch ?? ((url, init) => fetch(url, init))
  return async (path, body, signal) => {
    let response: Response
    let text: string
    try {
      response = await send(`${base}${path}`, {
        method: body === null ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          ...(body !== null && { authorization: `Bearer ${agent}:${token}`, 'content-type': 'application/json' }),
        },
        ...(body !== null && { body }),
        redirect: 'manual',
        signal,
      })
      text = await response.text()
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      throw new ClientError('unreachable', `The connection to ${base} failed`, { cause })
    }
    const json = parse(text)
    judge(response, json, base)
    return json
  }
}
