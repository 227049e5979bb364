/** Reference page of the HTTP paths: credentials and statuses. `test/generate/http-page.test.ts` checks it on a running service. */
import type { Scope } from '../core/caller.ts'
import { cell, page, table } from './markdown.ts'

export interface PathText {
  /** A path that ends with a slash also serves everything below it. */
  path: string
  methods: readonly string[]
  /** `any`: any valid token; null: no credentials. */
  login: Scope | 'any' | null
  about: string
  /** Statuses specific to the path, in addition to those of every path. */
  statuses: readonly number[]
}

const body = [408, 413, 503]
const credentials = [401, 429, 503]

/** A path with its statuses: 200, those of a body and of credentials if it takes them, and these. */
const path =
  (...methods: string[]) =>
  (path: string, login: PathText['login'], about: string, ...statuses: number[]): PathText => ({
    path,
    methods,
    login,
    about,
    statuses: [
      ...[200, ...statuses],
      ...(methods.includes('POST') ? body : []),
      ...(login === null ? [] : credentials),
      ...(login === null || login === 'any' ? [] : [403]),
    ],
  })
const get = path('GET', 'HEAD')
const post = path('POST')

export const paths: readonly PathText[] = [
  post(
    '/cstp',
    'any',
    'JSON-RPC 2.0: one call, a batch of up to 100, or notifications. An error of a method has status 200 and is in the body, except `rate_limited` (429), `forbidden` (403), `unavailable` and `overloaded` (503). Nothing but notifications: 204.',
    204,
    403,
    415,
  ),
  path('POST', 'GET', 'DELETE')(
    '/mcp',
    'any',
    'MCP over streamable HTTP. Pages of origins that are not listed in `CSTP_CORS_ORIGINS` get 403.',
    202,
    400,
    403,
    404,
    406,
    415,
    500,
  ),
  post(
    '/hooks/',
    'write',
    'A hook of an agent’s client, `/hooks/claude-code` for instance, answered in the form of that client. `?mode=guard` stops what rules of the pack `irreversible` block, `?mode=shadow` stops nothing. The header `cstp-failed: true` says that the answer is not a verdict.',
    404,
  ),
  post('/access/v1/evaluation', 'read', 'AuthZEN 1.0: one access evaluation.', 400, 500),
  post('/access/v1/evaluations', 'read', 'AuthZEN 1.0: several evaluations in one request.', 400, 500),
  get('/.well-known/authzen-configuration', null, 'AuthZEN 1.0: the addresses of the decision point.'),
  post(
    '/v1/data/',
    'read',
    'The data API of Open Policy Agent, with the documents `cstp` and `cstp/allow`. Any other document is undefined: `{}`.',
    400,
    500,
  ),
  post(
    '/webhooks/github',
    null,
    'Deliveries of GitHub, if `CSTP_GITHUB_WEBHOOK_SECRET` is set. The signature takes the place of a token: a wrong one is 401. A delivery that can’t be understood is 422; what can’t be written now is 503, and is to be delivered again.',
    400,
    401,
    415,
    422,
    429,
    500,
  ),
  get(
    '/.well-known/cstp-evidence-key',
    null,
    'The verifier key of the evidence log. Each address may read the log 300 times a minute.',
    429,
  ),
  get('/evidence/checkpoint', null, 'The signed checkpoint of the evidence log, in the form of C2SP.', 429, 500),
  get(
    '/evidence/consistency',
    null,
    'The proof that the log of size `?old=` is a prefix of that of size `?new=` (by default the newest).',
    400,
    429,
    500,
  ),
  get(
    '/.well-known/cstp-log-key',
    null,
    'The verifier key of the log of all acts. Each address may read its files 6 000 times a minute.',
    429,
  ),
  get(
    '/log/checkpoint',
    null,
    'The signed checkpoint of the log of all acts, with the cosignatures of its witnesses, in the form of C2SP.',
    429,
    500,
  ),
  get(
    '/log/tile/',
    null,
    'Its tiles, `<level>/<index>[.p/<width>]`, and bundles of its entries, `entries/<index>[.p/<width>]`, as C2SP tlog-tiles; they may be cached for ever.',
    404,
    429,
    500,
  ),
  get('/evidence/bundles/', 'evidence', 'A file of the bundle folder by its plain name.', 404),
  get('/metrics', 'read', '[Metrics](metrics.md) for Prometheus.'),
  get('/health', null, 'The process runs: version and uptime.'),
  get(
    '/ready',
    null,
    'The stores take writes; with the counts of the search index while it is being filled. 503 if not.',
    503,
  ),
  get('/', null, 'The addresses of the service; a browser is sent to the dashboard.', 302),
  get(
    '/.well-known/oauth-protected-resource',
    null,
    'RFC 9728, with `CSTP_OIDC_ISSUER`: the issuer of access tokens and the names of scopes.',
  ),
  get('/.well-known/oauth-protected-resource/mcp', null, 'The same for the path `/mcp`.'),
  get('/.well-known/agent.json', null, 'The agent card of the cstp protocol.'),
  get('/.well-known/agent-card.json', null, 'The agent card of A2A 1.0.'),
  get(
    '/dashboard',
    null,
    'The page of the dashboard; its data comes from `/cstp` with the session’s cookie. `CSTP_DASHBOARD=off` removes it.',
  ),
  path('GET')('/dashboard/login', null, 'Leads a person to the issuer, with `CSTP_OIDC_CLIENT_ID`.', 303, 400, 503),
  path('GET')('/dashboard/callback', null, 'Where the issuer leads the browser back; begins a session.', 303, 400),
  post('/dashboard/backchannel-logout', null, 'The issuer says that a person has logged out.', 400, 429),
  get('/dashboard/', null, 'Views of the dashboard, and its assets.', 404),
  post(
    '/dashboard/code',
    'any',
    'Gives a program on the machine of the service a code that begins one login in a browser, within a minute.',
    403,
  ),
  path('GET', 'POST', 'DELETE')(
    '/dashboard/session',
    null,
    'Begins (`POST` of agent and token, or of a code), shows and ends the session of a person; a `POST` of `workspace` goes on in another one of theirs. Pages of other origins get 403.',
    204,
    401,
    403,
    429,
  ),
]

const statusTexts: readonly [number, string][] = [
  [200, 'Done. At `/cstp` the body may still be a JSON-RPC error.'],
  [202, 'An MCP notification was accepted.'],
  [204, 'Done, nothing to say: notifications only, `OPTIONS`, the end of a session.'],
  [302, 'The root, asked for by a browser: the dashboard is elsewhere.'],
  [303, 'A login at the issuer: the browser goes there, or comes back from there.'],
  [400, 'The body, a header or a parameter is not of the form that the path takes; the message says which.'],
  [
    401,
    'No valid `Authorization: Bearer <agent>:<token>`, session or signature. See [login fails](../guide/troubleshooting.md#login-fails).',
  ],
  [
    403,
    'The token lacks the scope, the page is of another origin, or the host name is not the service’s own (`CSTP_PUBLIC_URL`).',
  ],
  [404, 'Nothing is at this path.'],
  [405, 'The path does not take this method; `Allow` lists those that it takes.'],
  [406, 'MCP: the client’s `Accept` excludes the answer.'],
  [408, 'The body took too long to arrive.'],
  [413, 'The body is over `CSTP_MAX_BODY_BYTES`.'],
  [415, 'The content type is not `application/json`.'],
  [422, 'The webhook’s delivery is signed, but can’t be understood.'],
  [429, 'Too many requests or failed logins; `Retry-After` has the seconds to wait.'],
  [500, 'The server failed; its log has the `request_id`.'],
  [
    503,
    'The server is starting, stopping, or receiving too many bytes at once; or the store can’t be written. Try again.',
  ],
]

const unique = (statuses: readonly number[]): number[] => [...new Set(statuses)].sort((a, b) => a - b)

export function httpPage(): string {
  const rows = paths.map(({ path, methods, login, about, statuses }) => [
    `\`${path}\``,
    methods.join(', '),
    login === null ? 'none' : login === 'any' ? 'any token' : `\`${login}\``,
    unique(statuses).join(', '),
    cell(about),
  ])
  const about =
    'Every path also answers `OPTIONS` (204, with CORS) and refuses other methods (405). A wrong host name is 403 anywhere. An error outside of JSON-RPC is `{"error": "<name>", "message": "<sentence>"}`. A path that ends with a slash serves everything below it.'
  return page(
    'HTTP paths',
    about,
    table(['Path', 'Methods', 'Token or scope', 'Statuses', 'What it is'], rows),
    '## Statuses',
    table(
      ['Status', 'Meaning'],
      statusTexts.map(([status, text]) => [String(status), text]),
    ),
  )
}

/** Statuses explained on the page. */
export const explained: ReadonlySet<number> = new Set(statusTexts.map(([status]) => status))
