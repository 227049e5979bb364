/** The webhook's surface: the signature comes first, then the limits and the forms; answers that a person can read. */

import { describe, expect, test } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import { CstpError } from '../../../sdk/errors.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { createLog } from '../../../src/core/log.ts'
import { type Delivered, type Delivery, githubRoute, largestDelivery } from '../../../src/surfaces/http/github.ts'
import { createGuesses, createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import * as fc from '../../support/property.ts'
import { serviceOf, url } from './service.ts'

const secret = "It's a Secret to Everybody"
const sign = (body: string | Uint8Array, key = secret) =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`

function webhook(
  deliver: (delivery: Delivery) => Promise<Delivered> = async () => ({
    outcome: 'ingested',
    ingested: 1,
    first_seq: 4,
  }),
) {
  const delivered: Delivery[] = []
  const observed: string[] = []
  let lines = ''
  const log = createLog({ level: 'debug', pretty: false, now: () => 0, write: (text) => (lines += text) })
  const { fetch } = serviceOf({
    max_body_bytes: 2_048,
    routes: {
      '/webhooks/github': githubRoute({
        secret,
        guesses: createGuesses({
          limiter: createRateLimiter({ per_minute: 20, burst: 20, now: () => 0 }),
          log,
          observe() {},
        }),
        trust_proxy: 1,
        log,
        observe: (result) => observed.push(result),
        deliver: async (delivery) => {
          delivered.push(delivery)
          return deliver(delivery)
        },
      }),
    },
  })
  const send = async (
    body: string | Uint8Array,
    headers: Record<string, string | null> = {},
    address = '192.0.2.1',
  ): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> => {
    const own: Record<string, string | null> = {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': 'd1',
      'x-hub-signature-256': sign(body),
      ...headers,
    }
    const sent = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== null)
    const request = new Request(`${url}/webhooks/github`, { method: 'POST', headers: sent, body: body as never })
    const response = await fetch(request, address)
    return { status: response.status, headers: response.headers, body: (await response.json()) as never }
  }
  return { send, delivered, observed, fetch, lines: () => lines }
}

describe('the signature', () => {
  test('GitHub’s published example of one', async () => {
    const body = 'Hello, World!'
    expect(sign(body)).toBe('sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17')
    // It is right, so what is refused is the form of the body.
    expect((await webhook().send(body)).status).toBe(400)
  })

  test.each<[string, string | null]>([
    ['none', null],
    ['empty', ''],
    ['of another secret', sign('{}', 'other')],
    ['of another body', sign('{"a":1}')],
    ['SHA-1', `sha1=${createHmac('sha1', secret).update('{}').digest('hex')}`],
    ['bare', sign('{}').slice(7)],
    ['cut', sign('{}').slice(0, -1)],
    ['longer', `${sign('{}')}0`],
    ['zeros', `sha256=${'0'.repeat(64)}`],
    ['not hexadecimal', `sha256=${'z'.repeat(64)}`],
    ['of the digest', sign(createHash('sha256').update('{}').digest())],
  ])('refused: %s', async (_, header) => {
    const { send, delivered, observed } = webhook()
    const { status, body } = await send('{}', { 'x-hub-signature-256': header })
    expect([status, body.error]).toEqual([401, 'unauthorized'])
    expect(delivered).toEqual([])
    expect(observed).toEqual(['unauthorized'])
  })

  test('the old header alone does not do', async () => {
    const old = `sha1=${createHmac('sha1', secret).update('{}').digest('hex')}`
    expect((await webhook().send('{}', { 'x-hub-signature-256': null, 'x-hub-signature': old })).status).toBe(401)
  })

  test('comes before everything else: who has no secret learns nothing', async () => {
    const { send } = webhook()
    const bad = { 'x-hub-signature-256': sign('other') }
    expect((await send('no JSON', bad)).status).toBe(401)
    expect((await send('{}', { ...bad, 'content-type': 'text/plain' })).status).toBe(401)
    expect((await send('{}', { ...bad, 'x-github-event': null })).status).toBe(401)
    expect((await send('{}', { ...bad, 'x-github-event': 'ping' })).status).toBe(401)
  })

  test('the secret is in no answer and no line of the log', async () => {
    const { send, lines } = webhook(async () => {
      throw new StorageError('unavailable', 'disk full')
    })
    const answers = [await send('{}'), await send('{}', { 'x-hub-signature-256': 'sha256=0' }), await send('?')]
    expect(answers.map(({ status }) => status)).toEqual([503, 401, 400])
    expect(JSON.stringify(answers) + lines()).not.toContain(secret)
    expect(JSON.stringify(answers)).not.toContain('disk full')
    expect(lines()).toContain('disk full')
  })

  test('any body with any signature but its own is refused', async () => {
    const { send, delivered } = webhook()
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.oneof(fc.string({ unit: 'binary-ascii' }), fc.stringMatching(/^sha256=[0-9a-f]{64}$/)),
        async (body, header) => {
          const printable = header.replace(/[^\x21-\x7e]/g, '')
          fc.pre(printable !== sign(body))
          expect([401, 429]).toContain((await send(body, { 'x-hub-signature-256': printable })).status)
        },
      ),
      { numRuns: 200 },
    )
    expect(delivered).toEqual([])
  })

  test('of a form that none has is refused before a byte of the body is read', async () => {
    const { fetch } = webhook()
    let read = 0
    const pull = (controller: ReadableStreamDefaultController) => {
      read++
      controller.enqueue(new Uint8Array(1_024))
    }
    const body = new ReadableStream({ pull }, { highWaterMark: 0 })
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': 'sha256=1' }
    const request = new Request(`${url}/webhooks/github`, { method: 'POST', headers, body })
    expect((await fetch(request, '192.0.2.1')).status).toBe(401)
    expect(read).toBe(0)
  })

  test('failures are limited by address, right deliveries are not', async () => {
    const { send } = webhook()
    const forged = (from: string) => send('{}', { 'x-hub-signature-256': null, 'x-forwarded-for': from })
    for (let n = 0; n < 20; n++) expect((await forged('198.51.100.1')).status).toBe(401)
    const limited = await forged('198.51.100.1')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '3'])
    expect((await forged('198.51.100.2')).status).toBe(401)
    expect((await send('{}', { 'x-forwarded-for': '198.51.100.1' })).status).toBe(200)
  })
})

describe('the form', () => {
  test('what is handed on: id, kind, digest and body', async () => {
    const { send, delivered, observed } = webhook()
    const text = '{"zen": "Zoë"}'
    const { status, body } = await send(text)
    expect(status).toBe(200)
    expect(body).toEqual({ ingested: 1, first_seq: 4, message: '1 event was ingested' })
    const body_sha256 = createHash('sha256').update(text).digest('hex')
    expect(delivered).toEqual([{ id: 'd1', kind: 'push', body_sha256, body: { zen: 'Zoë' } }])
    expect(observed).toEqual(['ingested'])
  })

  test.each<[number, string, string | Uint8Array, Record<string, string | null>]>([
    [415, 'a form', 'payload=%7B%7D', { 'content-type': 'application/x-www-form-urlencoded' }],
    [415, 'no type', '{}', { 'content-type': '' }],
    [400, 'no JSON', '{', {}],
    [400, 'nothing', '', {}],
    [400, 'no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), {}],
    [400, 'nesting past every stack', '['.repeat(1_000_000), {}],
    [400, 'no kind', '{}', { 'x-github-event': null }],
    [400, 'a kind with spaces', '{}', { 'x-github-event': 'pull request' }],
    [400, 'no id', '{}', { 'x-github-delivery': null }],
    [400, 'a long id', '{}', { 'x-github-delivery': 'd'.repeat(129) }],
  ])('%d: %s', async (expected, _, text, headers) => {
    const { send, delivered } = webhook()
    const { status, body } = await send(text, headers)
    expect(status).toBe(expected)
    expect(body.message).toBeString()
    expect(delivered).toEqual([])
  })

  test('a damaged chain is said to be one', async () => {
    const { send, observed } = webhook(async () => {
      throw new CstpError('internal_error', 'The evidence chain is damaged and takes nothing more: record 3')
    })
    const { status, body } = await send('{}')
    expect([status, body.message]).toEqual([500, 'The evidence chain is damaged and takes nothing more: record 3'])
    expect(observed).toEqual(['internal_error'])
  })

  test('beyond the bytes of its source a delivery is refused with the time to retry', async () => {
    const { send, observed } = webhook(async () => {
      throw new CstpError('rate_limited', 'webhook:github has written too much', { retry_after: 60 })
    })
    const { status, headers } = await send('{}')
    expect([status, headers.get('retry-after'), observed]).toEqual([429, '60', ['rate_limited']])
  })

  test('a ping is answered and not handed on', async () => {
    const { send, delivered, observed } = webhook()
    const { status, body } = await send('{"zen":"Design for failure."}', { 'x-github-event': 'ping' })
    expect([status, body.ingested, body.first_seq]).toEqual([200, 0, null])
    expect(body.message).toStartWith('pong')
    expect([delivered, observed]).toEqual([[], ['ping']])
  })

  test.each<[Delivered, number, string]>([
    [{ outcome: 'nothing', ingested: 0, first_seq: null }, 200, 'Nothing of this push delivery is recorded'],
    [{ outcome: 'repeated', ingested: 0, first_seq: 9 }, 200, 'from event 9 on'],
    [{ outcome: 'ingested', ingested: 3, first_seq: 9 }, 200, '3 events were ingested'],
    [{ outcome: 'refused', reason: 'the body is no push event: ref: missing' }, 422, 'ref: missing'],
  ])('%j is answered with %d', async (outcome, status, text) => {
    const answer = await webhook(async () => outcome).send('{}')
    expect(answer.status).toBe(status)
    expect(answer.body.message).toContain(text)
  })

  test('25 MiB are taken, whatever the limit of calls; more is not', async () => {
    const { send, delivered, observed } = webhook()
    const of = (length: number) => `"${'a'.repeat(length - 2)}"`
    expect((await send(of(largestDelivery))).status).toBe(200)
    expect((await send(of(largestDelivery + 1))).status).toBe(413)
    expect((await send('{}', { 'content-length': String(largestDelivery + 1) })).status).toBe(413)
    expect(delivered.length).toBe(1)
    expect(observed).toEqual(['ingested', 'payload_too_large', 'payload_too_large'])
  })

  test('only POST', async () => {
    const { fetch } = webhook()
    const response = await fetch(new Request(`${url}/webhooks/github`), '')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })
})
