/** Notices of approvals reach a real receiver: signed as Standard Webhooks says, retried, over restarts, and nowhere else. */
import { afterEach, expect, test } from 'bun:test'
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { expectedUrl, openDesk, openNotices } from '../../src/app/approvals.ts'
import type { NoticeFormat } from '../../src/domain/record/approval/messages.ts'
import { noticeCollection } from '../../src/domain/record/approval/notices.ts'
import { ask, asking } from '../support/approvals.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`

/** The check of a receiver, from the specification: `{id}.{timestamp}.{body}`, HMAC-SHA256 with the decoded secret, any of `v1,…`. */
function verified(headers: Headers, body: string, now_s: number): boolean {
  const [id, seconds, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headers.get(name),
  )
  if (!id || !seconds || !signatures || !/^\d+$/.test(seconds) || Math.abs(now_s - Number(seconds)) > 300) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest()
  return signatures
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice(3), 'base64'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
}

interface Arrived {
  id: string
  valid: boolean
  tampered: boolean
  body: { type: string; timestamp: string; data: Record<string, unknown> }
  text: string
}

const receivers: ReturnType<typeof Bun.serve>[] = []
afterEach(async () => {
  for (const one of receivers.splice(0)) await one.stop(true)
})

function receiver(program: TestProgram) {
  const state = { answer: () => new Response(null, { status: 204 }), arrived: [] as Arrived[], elsewhere: 0 }
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/hook') {
        state.elsewhere++
        return new Response()
      }
      const body = await request.text()
      const now_s = program.clock.now / 1_000
      state.arrived.push({
        id: request.headers.get('webhook-id')!,
        valid: verified(request.headers, body, now_s),
        tampered: verified(request.headers, `${body} `, now_s),
        body: JSON.parse(body),
        text: body,
      })
      return state.answer()
    },
  })
  receivers.push(server)
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.port}/hook`,
    origin: `http://127.0.0.1:${server.port}`,
  })
}

const quiet = Object.assign(() => {}, { flush() {} })
const open = (program: TestProgram, webhook_url: string, format: NoticeFormat = 'json') => {
  const settings = { webhook_url, webhook_secret: format === 'json' ? secret : null, webhook_format: format }
  return openNotices(settings, program.store, () => program.clock.now, quiet)!
}

forEachBackend((opened) => {
  test('request and decision arrive once each, signed, and without the arguments', async () => {
    const program = await opened()
    const to = receiver(program)
    const { approval } = await ask(program)
    await program.call('decideApproval', { id: approval!.id, decision: 'deny', reason: 'no' }, 'carol')
    const notices = open(program, to.url)
    const other = open(await program.second(), to.url)
    await Promise.all([notices.drain(), other.drain()])
    await notices.close()
    await other.close()
    expect(to.arrived.map(({ body }) => body.type).sort()).toEqual(['approval.decided', 'approval.requested'])
    expect(to.arrived.every(({ valid, tampered }) => valid && !tampered)).toBe(true)
    expect(new Set(to.arrived.map(({ id }) => id)).size).toBe(2)
    const decided = to.arrived.find(({ body }) => body.type === 'approval.decided')!.body.data
    expect(decided).toMatchObject({ id: approval!.id, state: 'denied', decided_by: 'carol', reason: 'no' })
    expect(JSON.stringify(to.arrived)).not.toContain('amount')
  })

  test('a receiver that fails gets the same notice again after a pause, from whichever server runs then', async () => {
    const program = await opened()
    const to = receiver(program)
    to.answer = () => new Response(null, { status: 500 })
    await ask(program)
    const first = open(program, to.url)
    expect(await first.drain()).toBe(0)
    await first.close()
    expect(to.arrived).toHaveLength(1)
    to.answer = () => new Response()
    const log = async (params: object = {}) => (await program.call('listDeliveries', params, 'root')).deliveries
    const failed = { id: to.arrived[0]!.id, type: 'approval.requested', state: 'waiting', attempts: 1 }
    expect(await log()).toEqual([expect.objectContaining({ ...failed, error: 'the webhook answered HTTP 500' })])
    const restarted = open(await program.second(), to.url)
    expect(await restarted.drain()).toBe(0)
    program.clock.now += 5_000
    await restarted.drain()
    const done = { ...failed, state: 'delivered', attempts: 2, error: null, next_attempt_at: null }
    expect(await log({ state: 'delivered' })).toEqual([expect.objectContaining(done)])
    expect(await log({ state: 'waiting' })).toEqual([])
    program.clock.now += 86_400_000
    await restarted.drain()
    await restarted.close()
    expect(to.arrived).toHaveLength(2)
    expect(to.arrived[1]!.id).toBe(to.arrived[0]!.id)
    expect(to.arrived[1]!.valid).toBe(true)
  })

  test('a notice that is due arrives, however many others wait for their next attempt', async () => {
    const program = await opened()
    const to = receiver(program)
    await program.store.transaction(async ({ keyed }) => {
      for (let at = 0; at < 120; at++) {
        const later = { expires_ms: program.clock.now + 60_000 }
        await keyed.put(noticeCollection, `msg_${String(at).padStart(32, '0')}`, { body: '{}', attempts: 1 }, later)
      }
    })
    await ask(program)
    const notices = open(program, to.url)
    expect(await notices.drain()).toBe(1)
    await notices.close()
    expect(to.arrived.map(({ body }) => body.type)).toEqual(['approval.requested'])
  })

  test('a notice that an erasure took out of the queue waits for nothing', async () => {
    const program = await opened()
    await ask(program)
    const log = async (state: string) => (await program.call('listDeliveries', { state }, 'root')).deliveries
    const [queued] = await log('waiting')
    await program.store.transaction(({ keyed }) => keyed.delete(noticeCollection, [queued!.id]))
    expect(await log('waiting')).toEqual([])
    const erased = { state: 'abandoned', next_attempt_at: null, error: 'what it reported was erased' } as const
    expect(await log('abandoned')).toEqual([{ ...queued!, ...erased }])
  })

  test('the log of deliveries is read in pages, newest first, and forgets what is 30 days old', async () => {
    const program = await opened()
    const to = receiver(program)
    to.answer = () => new Response(null, { status: 500 })
    const notices = open(program, to.url)
    await ask(program)
    for (let at = 0; at < 11; at++) {
      await notices.drain()
      program.clock.now += 86_400_000
    }
    const page = (cursor?: string) => program.call('listDeliveries', { limit: 1, ...(cursor && { cursor }) }, 'root')
    const first = await page()
    expect(first.deliveries).toEqual([expect.objectContaining({ state: 'abandoned', attempts: 11 })])
    expect((await page(first.next_cursor!)).deliveries).toEqual([])
    program.clock.now += 30 * 86_400_000
    await ask(program, asking(program, { amount: 2 }))
    await notices.drain()
    await notices.close()
    expect((await page()).deliveries).toEqual([expect.objectContaining({ state: 'waiting', attempts: 1 })])
    expect((await program.call('listDeliveries', {}, 'root')).deliveries).toHaveLength(1)
  })

  test('Slack and Teams get messages with the button of the request, and no markup of the agent', async () => {
    const program = await opened()
    const request = asking(program)
    const description = '<!channel> [approve](https://evil.example) *now*'
    await ask(program, { ...request, action: { ...request.action, description } })
    const { url } = (await program.call('listApprovals')).approvals[0]!
    const bodies = []
    for (const format of ['slack', 'teams'] as const) {
      const to = receiver(program)
      to.answer = () => new Response(null, { status: 500 })
      const notices = open(program, to.url, format)
      await notices.drain()
      await notices.close()
      program.clock.now += 60_000
      bodies.push(JSON.parse(to.arrived[0]!.text))
    }
    const [slack, teams] = bodies
    expect(slack.text).toBe('alice asks for an approval')
    expect(slack.blocks.at(-1).elements[0]).toMatchObject({ type: 'button', text: { text: 'Approve or deny' }, url })
    expect(new Set(slack.blocks.flatMap((one: { text?: { type: string } }) => one.text?.type ?? []))).toEqual(
      new Set(['plain_text']),
    )
    const { body, actions } = teams.attachments[0].content
    expect(actions).toEqual([{ type: 'Action.OpenUrl', title: 'Approve or deny', url }])
    expect(new Set(body.map(({ type }: { type: string }) => type))).toEqual(new Set(['RichTextBlock']))
    for (const shown of bodies) expect(JSON.stringify(shown)).toContain(description)
  })

  test('a redirect is a failure, and is not followed', async () => {
    const program = await opened()
    const to = receiver(program)
    to.answer = () => Response.redirect(`${to.origin}/inside`, 307)
    await ask(program)
    const notices = open(program, to.url)
    expect(await notices.drain()).toBe(0)
    await notices.close()
    expect([to.arrived.length, to.elsewhere]).toEqual([1, 0])
  })
})

test('the address of an approval is the public one, else where the service listens', () => {
  const at = (settings: Parameters<typeof expectedUrl>[0]) =>
    openDesk({ webhook_url: null, webhook_events: [] }, () => expectedUrl(settings), Date.now).approvalUrl('7F3K-Q2MX')
  expect(at({ public_url: 'https://cstp.example', host: '0.0.0.0', port: 9991 })).toBe(
    'https://cstp.example/dashboard/approvals/7F3K-Q2MX',
  )
  expect(at({ public_url: null, host: '0.0.0.0', port: 9991 })).toStartWith('http://127.0.0.1:9991/')
  expect(at({ public_url: null, host: '::1', port: 80 })).toStartWith('http://[::1]:80/')
  // A person of several workspaces is led to the one that asks.
  const desk = openDesk({ webhook_url: null, webhook_events: [] }, () => 'https://cstp.example', Date.now, 'red')
  expect([desk.approvalUrl('7F3K-Q2MX'), desk.pageUrl('guardrails?allowed=no'), desk.pageUrl('breakers/x')]).toEqual(
    ['approvals/7F3K-Q2MX?workspace=red', 'guardrails?allowed=no&workspace=red', 'breakers/x?workspace=red'].map(
      (path) => `https://cstp.example/dashboard/${path}`,
    ),
  )
})
