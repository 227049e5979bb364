/** The client against the real service: every kind of call, batches, errors with their data, and what it says of itself. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { methods as table } from '../../sdk/client.gen.ts'
import { type Client, createClient, isClientError, isCstpError } from '../../sdk/client.ts'
import { openMemoryProgram, type TestProgram } from '../support/program.ts'
import { serveProgram, type WireServer } from '../wire/server.ts'

let program: TestProgram
let server: WireServer
let client: Client
beforeAll(async () => {
  program = await openMemoryProgram()
  server = serveProgram(program)
  client = createClient({ url: server.url, agent: 'alice', token: server.token('alice') })
})
afterAll(async () => {
  await server.stop()
  await program.close()
})

const decision = { decision: 'Use SQLite for the catalogue', confidence: 0.8, category: 'architecture' }
const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (result) => {
      throw new Error(`it was not refused: ${JSON.stringify(result)}`)
    },
    (error: unknown) => error,
  )

test('a decision is recorded, found, reviewed', async () => {
  const { decision_id } = await client.recordDecision({
    ...decision,
    reasons: [{ type: 'constraint', text: 'One file' }],
  })
  const { decisions } = await client.queryDecisions({ query: 'SQLite catalogue', retrieval_mode: 'hybrid' })
  expect(decisions[0]?.id).toBe(decision_id)
  await client.reviewDecision({ decision_id, outcome: 'success' })
  const { outcome, recorded_by, reasons } = await client.getDecision({ id: decision_id })
  expect([outcome, recorded_by, reasons[0]?.strength]).toEqual(['success', 'alice', 0.8])
  expect((await client.getStats()).total).toBe(1)
})

test('an address may end in a slash or in the path of the methods', async () => {
  for (const url of [`${server.url}/`, `${server.url}/cstp`, `${server.url}/cstp/`]) {
    const other = createClient({ url, agent: 'alice', token: server.token('alice') })
    expect((await other.health()).status).toBe('ok')
    expect((await other.getStats()).total).toBeGreaterThanOrEqual(0)
  }
})

test('health and card need no token', async () => {
  const stranger = createClient({ url: server.url, agent: 'nobody', token: 'wrong' })
  expect(await stranger.health()).toMatchObject({ status: 'ok', agent: 'cstp' })
  expect(await stranger.card()).toMatchObject({ name: 'cstp', protocol: 'cstp', url: server.url })
  const error = await refusal(stranger.getStats())
  expect(isClientError(error, 'unauthorized') && error.status).toBe(401)
  expect(String(error)).not.toContain('wrong')
})

test('call reaches methods by any name, with or without cstp.', async () => {
  expect(await client.call('cstp.getStats')).toEqual(await client.getStats())
  expect(await client.call('getStats')).toEqual(await client.getStats())
  expect(await client.call('rpc.discover')).toMatchObject({ openrpc: '1.3.2' })
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  '%p is refused: as JSON it would be null, and count as not given',
  async (value) => {
    const action = { description: 'Pay', context: { amount: value } }
    const refused = `amount: expected a finite number, received ${value}`
    await expect(client.checkGuardrails({ action })).rejects.toThrow(refused)
    await expect(client.batch([{ method: 'checkGuardrails', params: { action } }])).rejects.toThrow(refused)
  },
)

describe('errors', () => {
  test('carry name, code, and data of their own shape', async () => {
    const invalid = await refusal(client.recordDecision({ ...decision, confidence: 2 }))
    if (!isCstpError(invalid, 'invalid_params')) throw invalid
    expect([invalid.code, invalid.data.issues[0]?.path]).toEqual([-32602, 'confidence'])
    const unknown = await refusal(client.getDecision({ id: '2026-01-01-decision-000000000000' }))
    if (!isCstpError(unknown, 'decision_not_found')) throw unknown
    expect(unknown.data.id).toBe('2026-01-01-decision-000000000000')
    const forbidden = await refusal(client.compact())
    if (!isCstpError(forbidden, 'forbidden')) throw forbidden
    expect(forbidden.data.scope).toBe('admin')
    const nothing = await refusal(client.call('cstp.getDecison'))
    if (!isCstpError(nothing, 'method_not_found')) throw nothing
    expect(nothing.data.available).toContain('cstp.getDecision')
    expect(isCstpError(nothing, 'invalid_params') || isClientError(nothing)).toBe(false)
  })

  test('of the engine say what kind they are', async () => {
    program.embedder.health = 'away'
    const error = await refusal(client.queryDecisions({ query: 'anything else' }, { timeoutMs: 5_000 }))
    program.embedder.health = 'up'
    expect(isCstpError(error, 'unavailable') && error.data.kind).toBe('unavailable')
  })
})

describe('batch', () => {
  test('entries succeed and fail on their own, in their order', async () => {
    const [stats, missing, recorded] = await client.batch([
      { method: 'getStats' },
      { method: 'getDecision', params: { id: '2026-01-01-decision-000000000000' } },
      { method: 'recordDecision', params: decision },
    ])
    expect(stats.ok && stats.result.total).toBeGreaterThanOrEqual(0)
    expect(!missing.ok && missing.error.error).toBe('decision_not_found')
    expect(recorded.ok && recorded.result.success).toBe(true)
  })

  test('of nothing asks nothing; of too much is refused whole', async () => {
    expect(await client.batch([])).toEqual([])
    const many = Array.from({ length: 101 }, () => ({ method: 'getStats' }) as const)
    expect(isCstpError(await refusal(client.batch(many)), 'invalid_request')).toBe(true)
    expect((await client.batch(many.slice(1))).every(({ ok }) => ok)).toBe(true)
  })
})

test('no method hides a function of the client itself', () => {
  expect(['call', 'batch', 'health', 'card'].filter((name) => name in table)).toEqual([])
})

test.each([
  [{ url: 'localhost:9991' }, /url/],
  [{ url: 'ftp://localhost' }, /url/],
  [{ url: 'http://user:secret-word@localhost' }, /url/],
  [{ agent: '' }, /agent/],
  [{ agent: 'a:b' }, /agent/],
  [{ agent: 'a\nb' }, /agent/],
  [{ token: '' }, /token/],
  [{ token: 'secret-word\n' }, /token/],
  [{ token: 'secret-word\u20ac' }, /token/],
])('options that cannot be meant are refused without being repeated: %j', (wrong, field) => {
  const make = () => createClient({ url: 'http://localhost:1', agent: 'alice', token: 'x', ...wrong })
  expect(make).toThrow(field)
  expect(make).not.toThrow(/secret-word/)
})
