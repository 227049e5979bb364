/** The evidence log over plain HTTP: what anyone may read and how often, and bundles by plain names only. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CstpError, invalidParams } from '../../../sdk/errors.ts'
import type { Request as Call, Dispatch } from '../../../src/calls/dispatch.ts'
import { evidenceRoutes } from '../../../src/surfaces/http/evidence.ts'
import { createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import { temporaryDir } from '../../support/process.ts'
import { serviceOf, tokens, url } from './service.ts'

const perMinute = 60
let dir = ''
beforeAll(async () => {
  dir = await temporaryDir()
  await mkdir(join(dir, 'bundles', 'inner.json'), { recursive: true })
  await writeFile(join(dir, 'secret.json'), '{"secret":true}')
  await writeFile(join(dir, 'bundles', 'a-1.json'), '{"bundle":1}')
  await writeFile(join(dir, 'bundles', 'a-1.pdf'), '%PDF-1.7')
  await writeFile(join(dir, 'bundles', 'notes.txt'), 'text')
  await writeFile(join(dir, 'bundles', '.hidden.json'), '{}')
  await symlink(join(dir, 'secret.json'), join(dir, 'bundles', 'link.json'))
  await symlink(dir, join(dir, 'bundles', 'up'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

function open(dispatch: Dispatch, trust_proxy = 0) {
  const clock = { now: 0 }
  const seen: Call[] = []
  const routes = evidenceRoutes({
    dispatch: (request) => {
      seen.push(request)
      return dispatch(request)
    },
    reads: createRateLimiter({ per_minute: perMinute, burst: perMinute, now: () => clock.now }),
    trust_proxy,
    verifier_key: 'cstp.test/log+00000000+AAAA',
    bundle_dir: join(dir, 'bundles'),
  })
  const service = serviceOf({ routes })
  const get = (path: string, init: RequestInit = {}, address = '10.0.0.1') =>
    service.fetch(new Request(`${url}${path}`, init), address)
  return { get, seen, clock }
}

const answers: Dispatch = async ({ method, params }) =>
  method === 'cstp.getCheckpoint' ? { note: 'o\n1\nx\n\n— o y\n' } : { ...(params as object), hashes: [] }

describe('anyone may read', () => {
  test('the key', async () => {
    const response = await open(answers).get('/.well-known/cstp-evidence-key')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(await response.text()).toBe('cstp.test/log+00000000+AAAA\n')
  })

  test('the checkpoint, as a reader of at most a second ago', async () => {
    const { get, seen } = open(answers)
    const response = await get('/evidence/checkpoint', { headers: { origin: 'https://a.test' } })
    expect(await response.text()).toBe('o\n1\nx\n\n— o y\n')
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(seen[0]).toMatchObject({ method: 'cstp.getCheckpoint', params: { max_age_seconds: 1 } })
    expect([...seen[0]!.caller.scopes]).toEqual(['read'])
  })

  test('that the log grew', async () => {
    const { get } = open(answers)
    expect(await (await get('/evidence/consistency?old=3&new=7')).json()).toEqual({ old: 3, new: 7, hashes: [] })
    expect(await (await get('/evidence/consistency?old=0')).json()).toEqual({ old: 0, hashes: [] })
  })

  test.each([
    '',
    '?new=5',
    '?old=',
    '?old=-1&new=2',
    '?old=1e3',
    '?old=0x10',
    '?old=1.5',
    '?old=%31%00',
    '?old=9999999999999999',
    '?old=1&old=2',
    '?old=1&new=2&new=3',
    '?old=1&new=two',
    '?old=1&size=2',
  ])('a query that is none is 400: %j', async (query) => {
    const { get, seen } = open(answers)
    const response = await get(`/evidence/consistency${query}`)
    expect([response.status, (await response.json()).error]).toEqual([400, 'invalid_params'])
    expect(seen).toEqual([])
  })

  test('what the method says is reported in plain HTTP', async () => {
    const failing = (error: unknown) => open(() => Promise.reject(error)).get('/evidence/consistency?old=1')
    const wrong = invalidParams({ path: 'old', message: 'too much', expected: 'less', received: '1' })
    expect([(await failing(wrong)).status, await (await failing(wrong)).json()]).toEqual([
      400,
      { error: 'invalid_params', message: 'Invalid params: old: too much' },
    ])
    const corrupt = new CstpError('internal_error', 'failed', { kind: 'corrupt', request_id: 'r' })
    expect([(await failing(corrupt)).status, (await (await failing(corrupt)).json()).error]).toEqual([
      500,
      'log_damaged',
    ])
    const other = new CstpError('internal_error', 'failed', { request_id: 'r' })
    expect([(await failing(other)).status, (await (await failing(other)).json()).error]).toEqual([
      500,
      'internal_error',
    ])
  })

  test('other methods are 405, HEAD is not', async () => {
    const { get } = open(answers)
    for (const path of ['/evidence/checkpoint', '/evidence/consistency', '/.well-known/cstp-evidence-key']) {
      expect((await get(path, { method: 'POST' })).status).toBe(405)
      expect((await get(path, { method: 'OPTIONS' })).status).toBe(204)
    }
    expect((await get('/evidence/checkpoint', { method: 'HEAD' })).status).toBe(200)
  })
})

describe('not without end', () => {
  test('an address that asks too often waits, another one does not', async () => {
    const { get, clock, seen } = open(answers)
    const paths = ['/evidence/checkpoint', '/evidence/consistency?old=1', '/.well-known/cstp-evidence-key']
    for (let asked = 0; asked < perMinute; asked++) expect((await get(paths[asked % 3]!)).status).toBe(200)
    const before = seen.length
    for (const path of paths) {
      const response = await get(path)
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1'])
      expect((await response.json()).error).toBe('rate_limited')
    }
    expect(seen.length).toBe(before)
    expect((await get(paths[0]!, {}, '10.0.0.2')).status).toBe(200)
    clock.now += 1_000
    expect((await get(paths[0]!)).status).toBe(200)
  })

  test('behind a proxy the address is the one that it saw; else what the client says of itself counts nothing', async () => {
    for (const [hops, refused] of [
      [1, 0],
      [0, 1],
    ] as const) {
      const { get } = open(answers, hops)
      let late = 0
      for (let asked = 0; asked <= perMinute; asked++) {
        const headers = { 'x-forwarded-for': `192.0.2.${asked}` }
        if ((await get('/evidence/checkpoint', { headers })).status === 429) late++
      }
      expect(late).toBe(refused)
    }
  })
})

describe('bundles', () => {
  const headers = { authorization: `Bearer ${tokens.alice}` }
  const bundle = (name: string, init: RequestInit = { headers }) => open(answers).get(`/evidence/bundles/${name}`, init)

  test('are served by name, as what they are', async () => {
    const json = await bundle('a-1.json')
    expect([json.status, json.headers.get('content-type'), await json.text()]).toEqual([
      200,
      'application/json',
      '{"bundle":1}',
    ])
    expect(json.headers.get('content-disposition')).toBe('attachment; filename="a-1.json"')
    expect(json.headers.get('x-content-type-options')).toBe('nosniff')
    const pdf = await bundle('a-1.pdf')
    expect([pdf.headers.get('content-type'), await pdf.text()]).toEqual(['application/pdf', '%PDF-1.7'])
    const head = await bundle('a-1.json', { method: 'HEAD', headers })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '12', ''])
  })

  test('need the scope evidence', async () => {
    expect((await bundle('a-1.json', {})).status).toBe(401)
    expect((await bundle('a-1.json', { headers: { authorization: `Bearer ${tokens.bob}` } })).status).toBe(403)
    expect((await bundle('absent.json', { headers: { authorization: `Bearer ${tokens.bob}` } })).status).toBe(403)
  })

  test.each([
    '',
    'absent.json',
    'notes.txt',
    '.hidden.json',
    'inner.json',
    'link.json',
    'up/secret.json',
    'a-1.json/',
    '../secret.json',
    '..%2fsecret.json',
    '%2e%2e/secret.json',
    '..%5csecret.json',
    'a-1%2ejson',
    'a-1.json%00',
    '/etc/passwd',
    '%2fetc%2fpasswd.json',
    `${'x'.repeat(260)}.json`,
  ])('and nothing else is: %j', async (name) => {
    const response = await bundle(name)
    expect(response.status).toBe(404)
    expect(await response.text()).not.toContain('secret')
  })
})
