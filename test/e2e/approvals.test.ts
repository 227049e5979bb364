/** Approvals with the real program: an agent over HTTP, a person at the command line, a webhook, and a server that is killed between. */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { drifter, seedDrift } from '../dashboard/drifting.ts'
import { bareEnv, cstp, type RunningServer, startServer, testDir, until } from '../support/process.ts'

const key = Buffer.from('a secret of thirty-two characters')
const action = { description: 'Pay invoice 4711', category: 'payment', context: { amount: 6000 } }

/** A webhook that notes what arrives, and whether it is signed. */
function receive(): {
  server: Bun.Server<undefined>
  received: { type: string; valid: boolean; data: Record<string, unknown> }[]
} {
  const received: { type: string; valid: boolean; data: Record<string, unknown> }[] = []
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const body = await request.text()
      const [id, at] = [request.headers.get('webhook-id'), request.headers.get('webhook-timestamp')]
      const mac = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')
      const { type, data } = JSON.parse(body)
      received.push({ type, valid: request.headers.get('webhook-signature') === `v1,${mac}`, data })
      return new Response()
    },
  })
  return { server, received }
}

test('drift of an agent is reported to the webhook, signed', async () => {
  const dir = await testDir()
  await seedDrift(dir)
  const { server: receiver, received } = receive()
  const env = {
    CSTP_WEBHOOK_URL: `http://127.0.0.1:${receiver.port}/`,
    CSTP_WEBHOOK_SECRET: `whsec_${key.toString('base64')}`,
    CSTP_WEBHOOK_EVENTS: 'drift',
  }
  const server = await startServer({ dir, env })
  try {
    await until('the notice', async () => received.length > 0)
    expect(received).toMatchObject([{ type: 'calibration.drift', valid: true, data: { agent: drifter } }])
  } finally {
    await server.kill()
    await receiver.stop(true)
  }
})

test('asked, killed, granted at the command line, passed once, and reported', async () => {
  const dir = await testDir()
  const { server: receiver, received } = receive()
  await mkdir(join(dir, 'rules'))
  await writeFile(
    join(dir, 'rules/pay.yaml'),
    '- { id: pay, action: step_up, message: Payments need a person, condition_category: payment }\n',
  )
  const data = join(dir, 'data')
  const settings = {
    GUARDRAILS_PATHS: join(dir, 'rules'),
    CSTP_EMBEDDER: 'hash',
    CSTP_WEBHOOK_URL: `http://127.0.0.1:${receiver.port}/`,
    CSTP_WEBHOOK_SECRET: `whsec_${key.toString('base64')}`,
  }
  // The agent local has what a first start gives it, no more.
  const plain = {
    CSTP_ADMIN_AGENTS: 'admin',
    CSTP_EVIDENCE_AGENTS: 'admin',
    CSTP_CURATORS: 'admin',
    CSTP_APPROVERS: 'admin',
  }
  let server: RunningServer = await startServer({ dir: data, env: { ...settings, ...plain } })
  const person = (...args: string[]) =>
    cstp(['approvals', ...args], bareEnv(data, { CSTP_PORT: new URL(server.url).port }))
  const check = () =>
    server.call('checkGuardrails', { action }) as Promise<{ allowed: boolean; approval: { id: string; url: string } }>
  try {
    const { allowed, approval } = await check()
    expect(allowed).toBe(false)
    expect(approval.url).toBe(`${server.url}/dashboard/approvals/${approval.id}`)
    const own = await server.rpc('decideApproval', { id: approval.id, decision: 'approve' })
    expect(own.error?.code).toBe(-32001)
    await server.kill('SIGKILL')
    server = await startServer({ dir: data, env: { ...settings, ...plain } })
    expect((await check()).approval.id).toBe(approval.id)
    const listed = await person()
    expect([listed.status, listed.out.includes(approval.id), listed.out.includes('Pay invoice 4711')]).toEqual([
      0,
      true,
      true,
    ])
    expect((await person('show', approval.id)).out).toContain('{"amount":6000}')
    const local = (await readFile(join(data, 'token'), 'utf8')).trim()
    const refused = await person('approve', approval.id, '--agent', 'local', '--token', local)
    expect([refused.status, refused.err]).toEqual([1, expect.stringContaining('needs the scope approve')])
    const granted = await person('approve', approval.id, '--reason', 'checked')
    expect([granted.status, granted.out]).toEqual([0, `${approval.id} is approved for local\n`])
    expect((await person('deny', approval.id)).err).toContain('is approved already')
    expect((await check()).allowed).toBe(true)
    expect((await check()).allowed).toBe(false)
    const consumed = JSON.parse((await person('--state', 'consumed', '--json')).out)
    expect(consumed).toMatchObject({
      total: 1,
      approvals: [{ id: approval.id, decided_by: 'admin', reason: 'checked' }],
    })
    await until('notices', async () => received.filter(({ type }) => type === 'approval.requested').length >= 2)
    expect(received.every(({ valid }) => valid)).toBe(true)
    expect(received.filter(({ type }) => type === 'approval.decided')).toMatchObject([{ data: { state: 'approved' } }])
  } finally {
    await server.kill('SIGKILL')
    await receiver.stop(true)
  }
})
