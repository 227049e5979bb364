/** The service as the pages call it: through its published client, with the session's cookie in place of a token. */
import {
  type BatchCall,
  type Client,
  createClient,
  isClientError,
  isCstpError,
  type MethodName,
  type ResultOf,
} from '../../sdk/client.ts'
import { texts } from './texts.ts'
import { findWorkspace, shownWorkspace, showWorkspace } from './workspace.ts'

const t = texts.service

/** Who is logged in. */
export interface Session {
  agent: string
  scopes: string[]
  workspace: string
  /** Those that the person may go on in; absent for somebody of one only. */
  workspaces?: string[]
  /** RFC 3339. */
  expires_at: string
}

const session = new EventTarget()
/** @returns a function that ends the notifications */
const when = (event: string) => (notify: () => void) => {
  session.addEventListener(event, notify)
  return () => session.removeEventListener(event, notify)
}
/** Runs a function when the service reports that the session has ended. */
export const onEnd = when('end')
/** Runs a function when a session has begun. */
export const onLogin = when('login')

function show(found: Session): Session {
  showWorkspace(found.workspace)
  return found
}

/** Goes on in another workspace, at its start page. Nothing that was loaded stays. */
export async function moveTo(workspace: string): Promise<void> {
  show(await begin({ workspace }))
  location.assign('/dashboard')
}

/** Fetches from the service with the session's cookie. */
export async function fetchOwn(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  // Other sites can't send this header, so the cookie alone has no effect.
  headers.set('x-cstp-dashboard', '1')
  // In another tab, the session may have become one of another workspace: what is done here is done in the one that is shown.
  const workspace = shownWorkspace()
  if (workspace !== null) headers.set('cstp-workspace', workspace)
  return fetch(url, { ...init, headers, credentials: 'same-origin' })
}

export const service: Client = createClient({
  url: location.origin,
  // The client requires both; the header that it builds from them is removed above.
  agent: 'dashboard',
  token: 'session',
  timeoutMs: 120_000,
  async fetch(url, init) {
    // A page that is being left waits for no answer, but the browser still sends the call.
    const response = await fetchOwn(url, { ...init, keepalive: document.visibilityState === 'hidden' })
    if (response.status === 401) session.dispatchEvent(new Event('end'))
    return response
  },
})

type BatchResult<C extends BatchCall> = C extends { method: infer N extends MethodName } ? ResultOf<N> : never

/** The results of calls that are made in one request. @throws the first error */
export async function callAll<C extends BatchCall>(
  calls: readonly C[],
  signal: AbortSignal,
): Promise<BatchResult<C>[]> {
  const answers = await service.batch(calls, { signal })
  return answers.map((answer) => {
    if (!answer.ok) throw answer.error
    return answer.result as BatchResult<C>
  })
}

const sessionPath = '/dashboard/session'

let issuerLogin: string | null = null
/** The path that leads to the issuer of people, as the service last said; null if there is none. */
export const loginAtIssuer = (): string | null => issuerLogin

async function currentSession(): Promise<Session | null> {
  const response = await fetchOwn(sessionPath)
  const { login = null, ...body } = (await response.json()) as Session & { login?: string }
  issuerLogin = login
  return response.ok ? show(body) : null
}

/** The code that `cstp dashboard` put into the address, which is taken out at once; null without one. */
function codeInAddress(): string | null {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1] ?? null
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}

/** The session that the code in the address begins, else the one of the cookie; null if there is none. */
export async function firstSession(): Promise<Session | null> {
  findWorkspace()
  const code = codeInAddress()
  if (code === null) return currentSession()
  return logIn({ code }).catch(currentSession)
}

/** Exchanges a token, or a code, for a session. @throws Error with a sentence for the person */
export async function logIn(given: { agent: string; token: string } | { code: string }): Promise<Session> {
  const found = show(await begin(given))
  session.dispatchEvent(new Event('login'))
  return found
}

async function begin(
  given: { agent: string; token: string } | { code: string } | { workspace: string },
): Promise<Session> {
  const response = await fetchOwn(sessionPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(given),
  })
  const body = await response.json()
  if (response.ok) return body
  throw new Error(response.status === 401 ? t.wrongToken : body.message)
}

/** @throws Error if the service did not end the session */
export async function logOut(): Promise<void> {
  const response = await fetchOwn(sessionPath, { method: 'DELETE' })
  if (!response.ok) throw new Error(t.notEnded(response.status))
}

/** An error as a sentence for a person. */
export function explain(error: unknown): string {
  // Without a scope, the message says what else is needed.
  if (isCstpError(error, 'forbidden') && error.data.scope !== undefined) return t.forbidden(error.data.scope)
  // The address says which item was meant.
  if (isCstpError(error)) return error.message.replace(/^Invalid params: id: (.)/, (_, first) => first.toUpperCase())
  if (isClientError(error, 'unreachable')) return t.unreachable
  if (isClientError(error, 'timeout')) return t.timeout
  return error instanceof Error ? error.message : String(error)
}
