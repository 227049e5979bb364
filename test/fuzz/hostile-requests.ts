/** Hostile requests as bytes: any path with anything, and the paths that take a body with bodies that nearly fit. */

import type * as v from 'valibot'
import { methods } from '../../src/methods/table.ts'
import { examples } from '../support/github.ts'
import * as fc from '../support/property.ts'
import { requests as rpcBodies } from './requests.ts'
import { hostileText, mutated, toText, valueFor } from './values.ts'

export interface Sent {
  method: string
  path: string
  headers: Header[]
  body: string
  /** What Content-Length says beside the length that is sent; null for no such header. */
  claimed: number | null
}

type Header = [string, string]

/** What opens the doors: the token of an agent, and the cookie of an administrator's session. */
export interface Access {
  token: string
  cookie: string
  /** Where the server answers, as a page of its own names it. */
  origin: string
}

const one = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
/** What can be sent in a header at all: the parser of the server refuses the rest before the program sees it. */
const headerText = hostileText.map((text) =>
  Buffer.from(text.replace(/[\r\n\0]/g, ''))
    .toString('latin1')
    .slice(0, 2_000),
)
const method = one('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE', 'BREW')
const paths = [
  ...['/', '/cstp', '/mcp', '/health', '/ready', '/metrics', '/webhooks/github', '/.well-known/agent-card.json'],
  ...[
    '/evidence/checkpoint',
    '/evidence/consistency?old=1&new=2',
    '/evidence/inclusion?seq=1',
    '/evidence/bundles/x.json',
    '/log/checkpoint',
    '/log/tile/0/000',
    '/log/tile/entries/x001/000.p/7',
  ],
  ...[
    '/access/v1/evaluation',
    '/access/v1/evaluations',
    '/.well-known/authzen-configuration',
    '/v1/data/cstp/allow',
    '/dashboard',
    '/dashboard/',
    '/dashboard/session',
    '/dashboard/approvals/7F3K-0000',
    '/dashboard/assets/',
    '/mcp/',
  ],
]
const path = fc.oneof(
  { weight: 8, arbitrary: one(...paths) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        one(...paths),
        one(
          '/../../etc/passwd',
          '%2e%2e/%2e%2e/token',
          '?a=%',
          '//',
          '/%00',
          '?old=-1&new=1e9',
          '?seq=NaN',
          '/..%5c..',
          '?'.repeat(5_000),
        ),
      )
      .map(([start, more]) => start + more),
  },
)
const event = {
  action: 'closed',
  number: 7,
  pull_request: {
    number: 7,
    merged: true,
    merged_at: '2026-07-01T12:00:00Z',
    user: { login: 'mallory', type: 'User' },
  },
  repository: { full_name: 'team/app', owner: { login: 'team' } },
  sender: { login: 'mallory', type: 'User' },
}
const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'pre_action', arguments: { description: 'x' } },
}
const entity = { type: 'user', id: 'mallory', properties: { role: 'admin' } }
const evaluation = { subject: entity, action: { name: 'read' }, resource: entity, context: { ip: '::1' } }
const evaluations = {
  ...evaluation,
  evaluations: [{}, { subject: entity }],
  options: { evaluations_semantic: 'execute_all' },
}
const input = { input: { action: { description: 'x', context: { tool: 'shell' } } } }
const body = fc.oneof(
  mutated(one<unknown>(event)).map(toText),
  mutated(one<unknown>(call)).map(toText),
  mutated(one<unknown>({ agent: 'local', token: 'guess' })).map(toText),
  hostileText,
  one('', '{', '[', '"', '\u0000', '['.repeat(100_000), 'agent=local&token=guess'),
)
const headers = ({ token, cookie }: Access): fc.Arbitrary<Header[]> => {
  const right = `Bearer local:${token}`
  return fc.array(
    fc.oneof(
      fc.tuple(
        one('authorization'),
        fc.oneof(one(right, right, 'Bearer', 'Bearer :', 'Basic bG9jYWw6eA==', `Bearer local:${token}x`), headerText),
      ),
      fc.tuple(
        one('content-type'),
        fc.oneof(
          one('application/json', 'application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data'),
          headerText,
        ),
      ),
      fc.tuple(
        one('x-github-event'),
        fc.oneof(one('pull_request', 'ping', 'workflow_run', 'pull_request_review'), headerText),
      ),
      fc.tuple(one('x-github-delivery'), fc.oneof(one('72d3162e-cc78-11e3-81ab-4c9367dc0958'), headerText)),
      fc.tuple(
        one('x-hub-signature-256'),
        fc.oneof(one('signed', 'signed', 'sha256=', `sha256=${'0'.repeat(64)}`, 'sha1=00'), headerText),
      ),
      fc.tuple(one('cookie'), one(cookie, `${cookie}x`, 'cstp=')),
      fc.tuple(one('x-cstp-dashboard'), one('1', '0')),
      fc.tuple(one('host'), fc.oneof(one('127.0.0.1', 'evil.example', 'localhost:1'), headerText)),
      fc.tuple(one('origin', 'referer'), fc.oneof(one('https://evil.example', 'null'), headerText)),
      fc.tuple(
        one('cookie', 'mcp-session-id', 'mcp-protocol-version', 'x-forwarded-for', 'accept', 'if-none-match', 'range'),
        headerText,
      ),
      fc.tuple(
        one('transfer-encoding', 'content-encoding', 'expect', 'upgrade', 'connection'),
        one('chunked', 'gzip', '100-continue', 'websocket', 'close'),
      ),
    ),
    { maxLength: 6 },
  )
}
const anything = (access: Access): fc.Arbitrary<Sent> =>
  fc.record({
    method,
    path,
    headers: headers(access),
    body,
    claimed: fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: one(5, -3, 30_000_000, Number.MAX_SAFE_INTEGER, null) },
    ),
  })

const metadata = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const json: Header = ['content-type', 'application/json']
const posted = (path: string, headers: Header[], body: string): Sent => ({
  method: 'POST',
  path,
  headers: [json, ...headers],
  body,
  claimed: 0,
})

/** Tools with inputs that are right, nearly right, or absurd. */
const toolCall = fc
  .constantFrom(...[...methods].flatMap(([name, { mcp, params }]) => (mcp ? [{ mcp, params, name }] : [])))
  .chain(({ mcp, params, name }) => {
    const schema = (mcp.input?.schema ?? params) as unknown as v.GenericSchema<unknown, unknown>
    const right = valueFor(schema, name, () => ['2026-07-01-decision-0123456789ab'])
    return fc
      .oneof(right, mutated(right))
      .chain((given) => mutatedSometimes({ name: mcp.name, arguments: given, _meta: metadata }))
      .map((given) => ({
        name: mcp.name,
        body: toText({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: given }),
      }))
  })

const mutatedSometimes = (value: object): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant<unknown>(value) }, { weight: 1, arbitrary: mutated(fc.constant(value)) })

/** GitHub's own examples, as they are or with one thing wrong. */
const deliveries = fc
  .constantFrom(...examples().filter(({ kind }) => /^(?:pull_request|workflow_run|check_run|push|ping)/.test(kind)))
  .chain(({ kind, body }) => mutatedSometimes(body).map((given) => ({ kind, body: given })))

/** Requests that get as far as their body. */
function fitting({ token, cookie, origin }: Access): fc.Arbitrary<Sent> {
  const agent: Header = ['authorization', `Bearer local:${token}`]
  const page: Header[] = [
    ['cookie', cookie],
    ['x-cstp-dashboard', '1'],
    ['origin', origin],
    ['host', new URL(origin).host],
  ]
  const modern = (name: string): Header[] => [
    ['accept', 'application/json, text/event-stream'],
    ['mcp-protocol-version', '2026-07-28'],
    ['mcp-method', 'tools/call'],
    ['mcp-name', name],
  ]
  const delivery: Header[] = [
    ['x-github-delivery', '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
    ['x-hub-signature-256', 'signed'],
  ]
  const login = mutated(one<unknown>({ agent: 'admin', token: 'guess' })).map(toText)
  return fc.oneof(
    { weight: 4, arbitrary: toolCall.map(({ name, body }) => posted('/mcp', [agent, ...modern(name)], body)) },
    {
      weight: 2,
      arbitrary: one<[string, object]>(
        ['/access/v1/evaluation', evaluation],
        ['/access/v1/evaluations', evaluations],
        ['/v1/data/cstp/allow', input],
      ).chain(([path, right]) => mutatedSometimes(right).map((given) => posted(path, [agent], toText(given)))),
    },
    { weight: 4, arbitrary: rpcBodies(() => []).map(({ text }) => posted('/cstp', page, text)) },
    {
      weight: 2,
      arbitrary: deliveries.map(({ kind, body }) =>
        posted('/webhooks/github', [['x-github-event', kind], ...delivery], toText(body)),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(login, hostileText).map((text) => posted('/dashboard/session', page.slice(1), text)),
    },
  )
}

/** Any request. */
export const hostileRequests = (access: Access): fc.Arbitrary<Sent> =>
  fc.oneof({ weight: 3, arbitrary: anything(access) }, { weight: 2, arbitrary: fitting(access) })
