/** Reference page of the HTTP paths: credentials and statuses. `test/generate/http-page.test.ts` checks it on a running service. */
import type { Scope } from '../core/caller.ts'

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
const login = [401, 429, 503]

export const paths: readonly PathText[] = [
  {
    path: '/cstp',
    methods: ['POST'],
    login: 'any',
    about:
      'JSON-RPC 2.0: one call, a batch of up to 100, or notifications. An error of a method has status 200 and is in the body, except `rate_limited` (429) and `forbidden` (403). Nothing but notifications: 204.',
    statuses: [200, 204, 403, 415, ...body, ...login],
  },
  {
    path: '/mcp',
    methods: ['POST', 'GET', 'DELETE'],
    login: 'any',
    about: 'MCP over streamable HTTP. Pages of origins that are not listed in `CSTP_CORS_ORIGINS` get 403.',
    statuses: [200, 202, 400, 403, 404, 406, 415, 500, ...body, ...login],
  },
  {
    path: '/hooks/',
    methods: ['POST'],
    login: 'write',
    about:
      'A hook of an agent’s client, `/hooks/claude-code` for instance, answered in the form of that client. `?mode=shadow` stops nothing. The header `cstp-failed: true` says that the answer is not a verdict.',
    statuses: [200, 403, 404, ...body, ...login],
  },
  {
    path: '/access/v1/evaluation',
    methods: ['POST'],
    login: 'read',
    about: 'AuthZEN 1.0: one access evaluation.',
    statuses: [200, 400, 403, 500, ...body, ...login],
  },
  {
    path: '/access/v1/evaluations',
    methods: ['POST'],
    login: 'read',
    about: 'AuthZEN 1.0: several evaluations in one request.',
    statuses: [200, 400, 403, 500, ...body, ...login],
  },
  {
    path: '/.well-known/authzen-configuration',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'AuthZEN 1.0: the addresses of the decision point.',
    statuses: [200],
  },
  {
    path: '/v1/data/',
    methods: ['POST'],
    login: 'read',
    about:
      'The data API of Open Policy Agent, with the documents `cstp` and `cstp/allow`. Any other document is undefined: `{}`.',
    statuses: [200, 400, 403, 500, ...body, ...login],
  },
  {
    path: '/webhooks/github',
    methods: ['POST'],
    login: null,
    about:
      'Deliveries of GitHub, if `CSTP_GITHUB_WEBHOOK_SECRET` is set. The signature takes the place of a token: a wrong one is 401. A delivery that can’t be understood is 422; what can’t be written now is 503, and is to be delivered again.',
    statuses: [200, 400, 401, 415, 422, 429, 500, ...body],
  },
  {
    path: '/.well-known/cstp-evidence-key',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The verifier key of the evidence log. Each address may read the log 300 times a minute.',
    statuses: [200, 429],
  },
  {
    path: '/evidence/checkpoint',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The signed checkpoint of the evidence log, in the form of C2SP.',
    statuses: [200, 429, 500],
  },
  {
    path: '/evidence/consistency',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The proof that the log of size `?old=` is a prefix of that of size `?new=` (by default the newest).',
    statuses: [200, 400, 429, 500],
  },
  {
    path: '/.well-known/cstp-log-key',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The verifier key of the log of all acts. Each address may read its files 6 000 times a minute.',
    statuses: [200, 429],
  },
  {
    path: '/log/checkpoint',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The signed checkpoint of the log of all acts, with the cosignatures of its witnesses, in the form of C2SP.',
    statuses: [200, 429, 500],
  },
  {
    path: '/log/tile/',
    methods: ['GET', 'HEAD'],
    login: null,
    about:
      'Its tiles, `<level>/<index>[.p/<width>]`, and bundles of its entries, `entries/<index>[.p/<width>]`, as C2SP tlog-tiles; they may be cached for ever.',
    statuses: [200, 404, 429, 500],
  },
  {
    path: '/evidence/bundles/',
    methods: ['GET', 'HEAD'],
    login: 'evidence',
    about: 'A file of the bundle folder by its plain name.',
    statuses: [200, 403, 404, ...login],
  },
  {
    path: '/metrics',
    methods: ['GET', 'HEAD'],
    login: 'read',
    about: '[Metrics](metrics.md) for Prometheus.',
    statuses: [200, 403, ...login],
  },
  {
    path: '/health',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The process runs: version and uptime.',
    statuses: [200],
  },
  {
    path: '/ready',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The stores take writes; with the counts of the search index while it is being filled. 503 if not.',
    statuses: [200, 503],
  },
  {
    path: '/',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The addresses of the service; a browser is sent to the dashboard.',
    statuses: [200, 302],
  },
  {
    path: '/.well-known/agent.json',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The agent card of the cstp protocol.',
    statuses: [200],
  },
  {
    path: '/.well-known/agent-card.json',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'The agent card of A2A 1.0.',
    statuses: [200],
  },
  {
    path: '/dashboard',
    methods: ['GET', 'HEAD'],
    login: null,
    about:
      'The page of the dashboard; its data comes from `/cstp` with the session’s cookie. `CSTP_DASHBOARD=off` removes it.',
    statuses: [200],
  },
  {
    path: '/dashboard/',
    methods: ['GET', 'HEAD'],
    login: null,
    about: 'Views of the dashboard, and its assets.',
    statuses: [200, 404],
  },
  {
    path: '/dashboard/session',
    methods: ['GET', 'POST', 'DELETE'],
    login: null,
    about:
      'Begins (`POST` of agent and token), shows and ends the session of a person. Pages of other origins get 403.',
    statuses: [200, 204, 401, 403, 429, ...body],
  },
]

const statusTexts: readonly [number, string][] = [
  [200, 'Done. At `/cstp` the body may still be a JSON-RPC error.'],
  [202, 'An MCP notification was accepted.'],
  [204, 'Done, nothing to say: notifications only, `OPTIONS`, the end of a session.'],
  [302, 'The root, asked for by a browser: the dashboard is elsewhere.'],
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
const cell = (text: string): string => text.replaceAll('|', '\\|')

export function httpPage(head: (title: string, about: string) => string): string {
  const rows = paths.map(
    ({ path, methods, login, about, statuses }) =>
      `| \`${path}\` | ${methods.join(', ')} | ${login === null ? 'none' : login === 'any' ? 'any token' : `\`${login}\``} | ${unique(statuses).join(', ')} | ${cell(about)} |`,
  )
  const about =
    'Every path also answers `OPTIONS` (204, with CORS) and refuses other methods (405). A wrong host name is 403 anywhere. An error outside of JSON-RPC is `{"error": "<name>", "message": "<sentence>"}`. A path that ends with a slash serves everything below it.'
  return [
    head('HTTP paths', about),
    '| Path | Methods | Token or scope | Statuses | What it is |\n| --- | --- | --- | --- | --- |',
    `${rows.join('\n')}\n`,
    '## Statuses\n',
    '| Status | Meaning |\n| --- | --- |',
    `${statusTexts.map(([status, text]) => `| ${status} | ${text} |`).join('\n')}\n`,
  ].join('\n')
}

/** Statuses explained on the page. */
export const explained: ReadonlySet<number> = new Set(statusTexts.map(([status]) => status))
