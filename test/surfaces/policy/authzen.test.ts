/** AuthZEN: the certification scenario of the Authorization API 1.0 (Basic, Batch, Discovery), and what its answers say of a verdict. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, openRuled, type Ruled } from '../../support/ruled.ts'

/** The eight decisions of the scenario's fixture; the rest is for verdicts that AuthZEN does not know. */
const rules = `
- id: bob-reads-only
  message: Bob may only read
  conditions:
    - { type: field, field: category, operator: "=", value: authzen }
    - { type: field, field: context.subject.id, operator: "=", value: bob }
    - { type: field, field: context.action.name, operator: "=", value: write }
    - { type: field, field: context.subject.properties.role, operator: "!=", value: admin }
- id: archived
  message: An archived record is not changed
  conditions:
    - { type: field, field: context.action.name, operator: "=", value: write }
    - { type: field, field: context.resource.properties.status, operator: "=", value: archived, when_missing: no_match }
    - { type: field, field: context.subject.properties.role, operator: "!=", value: admin }
- id: hard-delete
  message: Records are only marked as deleted
  suggestion: Delete with soft
  conditions:
    - { type: field, field: context.action.name, operator: "=", value: delete }
    - { type: field, field: context.action.properties.soft, operator: "=", value: false }
- id: export-asks
  action: step_up
  message: An export needs a person
  conditions:
    - { type: field, field: context.action.name, operator: "=", value: export, when_missing: no_match }
- id: from-outside
  message: Not from this network
  conditions:
    - { type: field, field: context.ip, operator: "=", value: 203.0.113.7, when_missing: no_match }
`
let place: Ruled
beforeAll(async () => {
  place = await openRuled(rules)
})
afterAll(() => place.close())

const one = '/access/v1/evaluation'
const many = '/access/v1/evaluations'
const alice = { type: 'user', id: 'alice' }
const bob = { type: 'user', id: 'bob' }
const admin = { ...bob, properties: { role: 'admin' } }
const record = { type: 'record', id: 'record-1' }
const archived = { type: 'record', id: 'record-2', properties: { status: 'archived' } }
const [read, write] = [{ name: 'read' }, { name: 'write' }]
const deleting = (soft: boolean) => ({ name: 'delete', properties: { soft } })
const ask = (subject: unknown, action: unknown, resource: unknown, more: object = {}) =>
  place.post(one, { subject, action, resource, ...more })
const decisions = ({ body }: Answer): unknown[] =>
  body.evaluations.map(({ decision }: Record<string, unknown>) => decision)

/** A refusal as the service puts it, which never has a decision. */
const refused = ({ status, headers, body }: Answer, error = 'invalid_params') => {
  expect([status, headers.get('content-type'), body.error]).toEqual([400, 'application/json', error])
  expect(Object.keys(body)).toEqual(['error', 'message'])
  return body.message as string
}

describe('Basic', () => {
  test.each([
    ['1', alice, read, record, true],
    ['2', alice, write, record, true],
    ['3', bob, read, record, true],
    ['4', bob, write, record, false],
    ['5', alice, write, archived, false],
    ['6', admin, write, archived, true],
    ['7', alice, deleting(true), record, true],
    ['8', alice, deleting(false), record, false],
  ])('decision %s of the fixture', async (_, subject, action, resource, decision) => {
    for (const context of [{}, { context: { time: '2025-06-27T18:03-07:00' } }]) {
      const { status, headers, body } = await ask(subject, action, resource, context)
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(body).toEqual({ decision, context: expect.objectContaining({ verdict: decision ? 'allow' : 'deny' }) })
    }
  })

  test('further properties and unknown fields do no harm', async () => {
    const sales = { ...alice, properties: { department: 'Sales', role: 'manager' }, future: 1 }
    const got = { name: 'read', properties: { method: 'GET' } }
    const active = { ...record, properties: { status: 'active', owner: 'bob' } }
    expect((await ask(sales, got, active, { foo: 'bar', futureField: { nested: true } })).body.decision).toBe(true)
  })

  const whole = { subject: alice, action: read, resource: record }
  test.each([
    ['subject', { ...whole, subject: undefined }],
    ['action', { ...whole, action: undefined }],
    ['resource', { ...whole, resource: undefined }],
    ['subject.type', { ...whole, subject: { id: 'alice' } }],
    ['subject.id', { ...whole, subject: { type: 'user' } }],
    ['action.name', { ...whole, action: {} }],
    ['resource.type', { ...whole, resource: { id: 'record-1' } }],
    ['resource.id', { ...whole, resource: { type: 'record' } }],
    ['subject', { ...whole, subject: 'alice' }],
    ['action.name', { ...whole, action: { name: 123 } }],
    ['subject.properties', { ...whole, subject: { ...alice, properties: [] } }],
    ['context', { ...whole, context: 'none' }],
    ['context', { ...whole, context: null }],
  ])('what is missing or of a wrong type is 400 and named: %s', async (path, body) => {
    expect(refused(await place.post(one, body))).toStartWith(`Invalid params: ${path}: `)
  })

  test.each([
    ['malformed JSON', '{"subject":', {}, 'parse_error'],
    ['an empty body', '', {}, 'parse_error'],
    ['an array', '[]', {}, 'invalid_params'],
    ['null', 'null', {}, 'invalid_params'],
    ['another content type', JSON.stringify(whole), { 'content-type': 'text/plain' }, 'invalid_request'],
  ])('%s is 400', async (_, body, headers: Record<string, string>, error) => {
    refused(await place.post(one, body, { headers }), error)
  })

  test('the X-Request-ID of a request is in its answer, whatever that is', async () => {
    const headers = { 'X-Request-ID': 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716' }
    const answers = [
      await place.post(one, whole, { headers }),
      await place.post(many, { evaluations: 1 }, { headers }),
      await place.post(one, whole, { headers, as: null }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401])
    for (const answer of answers) expect(answer.headers.get('x-request-id')).toBe(headers['X-Request-ID'])
    const get = await place.server.fetch(one, { headers })
    expect([get.status, get.headers.get('x-request-id')]).toEqual([405, headers['X-Request-ID']])
    expect((await place.post(one, whole)).headers.get('x-request-id')).toBeNull()
  })

  test('pages may send the header and read it', async () => {
    const headers = { origin: 'https://gateway.example', 'X-Request-ID': 'r1' }
    const preflight = await place.server.fetch(one, { method: 'OPTIONS', headers, as: null })
    expect(preflight.headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type, X-Request-ID')
    expect((await place.post(one, whole, { headers })).headers.get('access-control-expose-headers')).toContain(
      'X-Request-ID',
    )
  })

  test('without credentials it is 401, and says how to log in', async () => {
    const { status, headers, body } = await place.post(one, whole, { as: null })
    expect([status, body.error, headers.get('www-authenticate')]).toEqual([401, 'unauthorized', 'Bearer realm="cstp"'])
  })
})

describe('Batch', () => {
  const batch = (evaluations: unknown[], more: object = {}) => place.post(many, { ...more, evaluations })

  test('decisions in the order of the evaluations, with defaults that are replaced as a whole', async () => {
    const answer = await batch(
      [{}, { resource: archived }, { subject: admin, resource: archived }, { action: deleting(false) }],
      { subject: alice, action: write, resource: { ...record, properties: { status: 'active' } } },
    )
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body)).toEqual(['evaluations'])
    expect(decisions(answer)).toEqual([true, false, true, false])
  })

  test('without defaults', async () => {
    const list = [
      { subject: alice, action: read, resource: record },
      { subject: bob, action: write, resource: record },
    ]
    expect(decisions(await batch(list))).toEqual([true, false])
  })

  test('a context is inherited, or replaced', async () => {
    const outside = { ip: '203.0.113.7' }
    const answer = await batch([{}, { context: { source: 'inside' } }], {
      ...{ subject: alice, action: read, resource: record },
      context: outside,
    })
    expect(decisions(answer)).toEqual([false, true])
  })

  test('an evaluation that is not one is denied with the reason, the others are decided', async () => {
    const answer = await batch([{ resource: record }, {}, 7, { resource: record, subject: null }], {
      ...{ subject: alice, action: read },
      options: { evaluations_semantic: 'execute_all', another_option: 'value' },
    })
    expect(answer.status).toBe(200)
    expect(decisions(answer)).toEqual([true, false, false, false])
    expect(answer.body.evaluations[1].context).toEqual({
      error: { status: 400, message: 'Invalid params: resource: is required' },
    })
  })

  test.each([
    ['execute_all', [true, false, true, false]],
    ['deny_on_first_deny', [true, false]],
    ['permit_on_first_permit', [true]],
  ])('%s', async (evaluations_semantic, expected) => {
    const list = [{ subject: alice }, { subject: bob }, { subject: alice }, { subject: bob }]
    const more = { action: write, resource: record, options: { evaluations_semantic } }
    const before = (await place.trail()).length
    expect(decisions(await batch(list, more))).toEqual(expected)
    // What was not decided was not evaluated either.
    expect((await place.trail()).length - before).toBe(expected.length)
  })

  test('denials do not end a search for a permit, nor does a failure', async () => {
    const list = [{ subject: bob }, { subject: null }, { subject: alice }, { subject: alice }]
    const options = { evaluations_semantic: 'permit_on_first_permit' }
    expect(decisions(await batch(list, { action: write, resource: record, options }))).toEqual([false, false, true])
    const strict = { evaluations_semantic: 'deny_on_first_deny' }
    expect(
      decisions(
        await batch([{ subject: null }, {}], { subject: alice, action: read, resource: record, options: strict }),
      ),
    ).toEqual([false])
  })

  test('without evaluations it is a single one', async () => {
    for (const more of [{}, { evaluations: [] }]) {
      const { status, body } = await place.post(many, { subject: alice, action: read, resource: record, ...more })
      expect([status, body.decision, 'evaluations' in body]).toEqual([200, true, false])
    }
  })

  test('what is wrong with the whole is 400', async () => {
    expect(refused(await batch([{}], { options: { evaluations_semantic: 'all' } }))).toContain('evaluations_semantic')
    expect(refused(await place.post(many, { evaluations: {} }))).toContain('evaluations')
    expect(refused(await batch(Array(101).fill({})), 'invalid_request')).toContain('at most 100')
  })
})

test('Discovery', async () => {
  const response = await place.server.fetch('/.well-known/authzen-configuration', { as: null })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  const { url } = place.server
  expect(await response.json()).toEqual({
    policy_decision_point: url,
    access_evaluation_endpoint: `${url}${one}`,
    access_evaluations_endpoint: `${url}${many}`,
  })
})

describe('a verdict', () => {
  test('is that of checkGuardrails: a line of the trail with what was asked, and its reason in the answer', async () => {
    const { body } = await ask(alice, deleting(false), record, { context: { ip: '192.0.2.1', subject: 'mallory' } })
    expect(body.context).toMatchObject({
      verdict: 'deny',
      reason: 'hard-delete: Records are only marked as deleted. What would allow it: Delete with soft',
      violations: [{ guardrail_id: 'hard-delete' }],
    })
    const [line] = await place.trail()
    expect(line).toMatchObject({
      agent: 'ada',
      method: 'cstp.checkGuardrails',
      allowed: false,
      rules: ['hard-delete'],
      detail: {
        input: {
          category: 'authzen',
          description: 'delete record record-1',
          // The context of a request can't pose as an entity.
          context: { ip: '192.0.2.1', subject: alice, action: deleting(false), resource: record },
        },
        claims: { id: 'alice' },
        record_id: body.context.record_id,
      },
    })
  })

  test('that waits for a person is false with the request; once it is granted the same request is true, once', async () => {
    const exporting = () => ask(alice, { name: 'export' }, record)
    const { decision, context } = (await exporting()).body
    expect([decision, context.verdict, context.approval.state]).toEqual([false, 'step_up', 'pending'])
    expect(context.reason).toContain(`approval ${context.approval.id} requested: ${context.approval.url}`)
    const { id } = context.approval
    await place.server.call('decideApproval', { id, decision: 'approve', reason: 'checked' }, 'root')
    const passed = (await exporting()).body
    expect([passed.decision, passed.context.approval]).toMatchObject([true, { id, state: 'consumed' }])
    expect((await exporting()).body).toMatchObject({ decision: false, context: { approval: { state: 'pending' } } })
  })

  test('is not decided by the subject itself', async () => {
    const { approval } = (await ask({ type: 'user', id: 'root' }, { name: 'export' }, record)).body.context
    const params = { id: approval.id, decision: 'approve', reason: 'mine' }
    await expect(place.server.call('decideApproval', params, 'root')).rejects.toThrow('ada acts for root')
  })
})
