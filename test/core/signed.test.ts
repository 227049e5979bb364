/** Signed requests: what is accepted, once, and what the answer proves; with the hook script as the client. */
import { expect, test } from 'bun:test'
import { credentials } from '../../plugin/hooks/cstp-hook.mjs'
import { agentsOf, parseTokens } from '../../src/core/caller.ts'
import { openSignatures } from '../../src/core/signed.ts'
import * as fc from '../support/property.ts'

const token = 'the-token-of-ada-0001'
const url = 'http://127.0.0.1:9991'
const agents = agentsOf(
  parseTokens([
    { agent: 'ada', token },
    { agent: 'Jürgen ß', token: 'the-token-of-jürgen' },
  ]),
)
const open = (now = Date.now) => openSignatures(() => agents, now)
interface Sent {
  agent?: string
  token?: string
  method?: string
  path?: string
  body?: string
}
const sent = ({
  agent = 'ada',
  token: own = token,
  method = 'POST',
  path = '/hooks/codex?mode=guard',
  body = '{}',
}: Sent = {}) => {
  const { authorization, proves } = credentials({ url, agent, token: own, method, path, body })
  return { authorization, proves, body, request: new Request(url + path, { method, headers: { authorization } }) }
}
const json = (text: string, status = 200) =>
  new Response(text, { status, headers: { 'content-type': 'application/json' } })

test('a signed request is accepted once, and its header contains no token', () => {
  const signatures = open()
  const { request, authorization } = sent()
  expect(signatures.caller(request)?.agent).toBe('ada')
  expect(signatures.caller(new Request(request))).toBeNull()
  expect(authorization).not.toContain(token)
  expect(open().caller(sent({ agent: 'Jürgen ß', token: 'the-token-of-jürgen' }).request)?.agent).toBe('Jürgen ß')
  expect(open().caller(sent({ agent: 'eve' }).request)).toBeNull()
  expect(open().caller(sent({ token: 'another-token-of-ada' }).request)).toBeNull()
})

test('a signature is for one method, path and body, and for a minute', () => {
  const { authorization } = sent()
  const other = (path: string, method = 'POST') =>
    open().caller(new Request(url + path, { method, headers: { authorization } }))
  expect(other('/hooks/codex?mode=guard')?.agent).toBe('ada')
  for (const path of ['/hooks/codex', '/hooks/codex?mode=shadow', '/cstp']) expect(other(path)).toBeNull()
  expect(other('/hooks/codex?mode=guard', 'PUT')).toBeNull()
  for (const away of [-61_000, 61_000]) expect(open(() => Date.now() + away).caller(sent().request)).toBeNull()
  const signatures = open()
  const { request } = sent({ body: 'ls' })
  signatures.caller(request)
  const fits = (text: string) => signatures.fits(request, new TextEncoder().encode(text))
  expect([fits('ls'), fits('rm')]).toEqual([true, false])
})

test('an answer is proven by its status and its bytes, and by nobody who lacks the token', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.constantFrom(200, 401, 503), async (text, status) => {
      const signatures = open()
      const { request, proves } = sent()
      signatures.caller(request)
      const answer = await signatures.prove(request, json(text, status))
      const proof = answer.headers.get('cstp-proof')
      const body = await answer.text()
      expect([body, answer.status, proves(status, proof, body)]).toEqual([text, status, true])
      expect([proves(status + 1, proof, body), proves(status, proof, `${body} `), proves(status, null, body)]).toEqual([
        false,
        false,
        false,
      ])
      // The proof of another request is none.
      expect(sent().proves(status, proof, body)).toBe(false)
    }),
  )
})

test('a request that is not signed gets its answer as it is; over https the token is sent, as TLS proves the server', () => {
  const signatures = open()
  const plain = new Request(url, { headers: { authorization: `Bearer ada:${token}` } })
  const answer = json('{}')
  expect([signatures.caller(plain), signatures.prove(plain, answer)]).toEqual([null, answer])
  const { authorization, proves } = credentials({
    url: 'https://cstp.example',
    agent: 'ada',
    token,
    method: 'GET',
    path: '/',
    body: '',
  })
  expect([authorization, proves(200, null, '')]).toEqual([`Bearer ada:${token}`, true])
})
