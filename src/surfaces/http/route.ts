/** A path that the server answers: what is seen to before its handler runs, and what the handler gets. */
import type { Caller, Scope } from '../auth.ts'

/** The address of the connection; asked for only where it matters, as it costs a call of the system. */
export type Address = () => string
/** Lifts the limit on how long the connection of a request may be silent. */
export type Unhurried = () => void

/** A path beside the service's own. CORS, OPTIONS, the method, the login and the rate limit are seen to before `handle` runs. */
export interface Route {
  methods: readonly string[]
  /** What the caller's credentials must allow, `any` for nothing special; without it the path needs none, and `visit.caller` is null. */
  scope?: Scope | 'any'
  /** The session of a dashboard is as good as credentials. */
  sessions?: boolean
  /** Headers that pages may send beside Authorization and Content-Type. */
  headers?: readonly string[]
  handle(request: Request, visit: Visit): Promise<Response> | Response
}

export interface Visit {
  caller: Caller | null
  /** The path of the URL as it was sent, without its query. */
  path: string
  /** Asked only where it matters, as it costs a call of the system. */
  address: Address
  newRequestId(): string
  /** Takes further requests of the caller's rate limit. Returns the seconds to wait, 0 to go on. */
  take(cost: number): number | Promise<number>
  /** The largest body that the caller may send. */
  max_body_bytes: number
  /** The connection is not closed for being silent: for answers that may take long, and for streams. */
  unhurried(): void
  /** Aborts when the server stops waiting for calls under way. */
  signal: AbortSignal
}
