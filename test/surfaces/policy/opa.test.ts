/** OPA's data API, asked by OPA's own client and by the AI SDK's policy package, both unmodified. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { httpPolicyClient, opaPolicy } from '@ai-sdk/policy-opa'
import { OPAClient } from '@open-policy-agent/opa'
import { generateText, isStepCount, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as z from 'zod'
import { openRuled, type Ruled } from '../../support/ruled.ts'
import { tokens } from '../../support/serving.ts'

const rules = `
- id: no-shell
  message: No shell here
  suggestion: Use the editor
  conditions:
    - { type: field, field: category, operator: "=", value: opa }
    - { type: field, field: context.input.tool.name, operator: "=", value: shell, when_missing: no_match }
- id: large-payment
  action: step_up
  condition_category: payment
  condition_context.amount: "> 5000"
  message: Large payments need a person
- id: plan-first
  action: modify
  message: Only a plan is made
  conditions:
    - { type: field, field: context.command, operator: "=", value: terraform apply, when_missing: no_match }
  modify: { set: { context.command: terraform plan } }
`
let place: Ruled
beforeAll(async () => {
  place = await openRuled(rules)
})
afterAll(() => place.close())

const path = '/v1/data/cstp/allow'
const headers = { authorization: `Bearer ${tokens.ada}` }
const pay = { description: 'Pay invoice 4711', category: 'payment', context: { amount: 6000 } }
const shell = { tool: { name: 'shell' }, args: { command: 'rm -r /' } }

describe('the path of a document', () => {
  test.each([path, '/v1/data/cstp', '/v1/data/cstp/', '/v1/data/cstp%2Fallow', `${path}?pretty=true&metrics`])(
    '%s is the document',
    async (path) => {
      const { status, body } = await place.post(path, { input: shell })
      expect(status).toBe(200)
      expect(body).toEqual({
        result: {
          allow: false,
          verdict: 'deny',
          record_id: expect.stringContaining('-evaluation-'),
          reason: 'no-shell: No shell here. What would allow it: Use the editor',
          violations: [expect.objectContaining({ guardrail_id: 'no-shell' })],
        },
      })
    },
  )

  test.each(['/v1/data/other', '/v1/data/', '/v1/data/cstp/deny', '/v1/data/cstp/allow/x', '/v1/data/%zz'])(
    '%s is not defined',
    async (path) => {
      const before = (await place.trail()).length
      const { status, body } = await place.post(path, { input: shell })
      expect([status, body]).toEqual([200, {}])
      expect((await place.trail()).length).toBe(before)
    },
  )

  test('needs credentials, whether it is defined or not', async () => {
    for (const path of ['/v1/data/cstp/allow', '/v1/data/other'])
      expect((await place.post(path, { input: shell }, { as: null })).status).toBe(401)
  })
})

describe('the input of a document', () => {
  const inputOf = async (input: unknown) => {
    const { status, body } = await place.post(path, { input })
    expect([status, body.result?.allow]).toEqual([200, true])
    return (await place.trail())[0]!.detail as { input: object }
  }

  test('is checked as a whole, as the category opa', async () => {
    for (const input of [
      { method: 'GET', path: ['a'] },
      { action: 'read' },
      { action: { name: 'read' } },
      'text',
      0,
      null,
    ])
      expect((await inputOf(input)).input).toMatchObject({
        category: 'opa',
        description: JSON.stringify(input),
        context: { input },
      })
    const { description } = (await inputOf({ text: 'x'.repeat(5_000) })).input as { description: string }
    expect(description).toHaveLength(501)
  })

  test('may have an action of checkGuardrails, which is checked as such', async () => {
    const action = { ...pay, stakes: 'high', context: { amount: 10 } }
    expect((await inputOf({ action, messages: ['more'] })).input).toMatchObject(action)
  })

  test.each([
    ['action.stake', { input: { action: { ...pay, stake: 'high' } } }],
    ['action.description', { input: { action: { ...pay, description: ' ' } } }],
    ['input', {}],
    ['input', { inputs: shell }],
    ['input', [shell]],
  ])('with a mistake is refused, never evaluated as something else: %s', async (path, body) => {
    const answer = await place.post('/v1/data/cstp/allow', body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ code: 'invalid_params', message: expect.stringContaining(`${path}: `) })
  })

  test.each([
    ['malformed', '{"input":', 'parse_error'],
    ['empty', '', 'parse_error'],
  ])('a body that is %s is refused', async (_, body, code) => {
    const answer = await place.post(path, body)
    expect([answer.status, answer.body.code]).toEqual([400, code])
  })
})

test('an action that is only allowed as rules changed it is not allowed, as nobody would change it', async () => {
  const action = { description: 'Apply', context: { command: 'terraform apply' } }
  const { body } = await place.post(path, { input: { action } })
  expect(body.result).toMatchObject({
    ...{ allow: false, verdict: 'modify' },
    reason: 'Allowed only as changed: context.command "terraform plan" (plan-first)',
    modified_action: { context: { command: 'terraform plan' } },
  })
})

describe("OPA's client", () => {
  const client = () => new OPAClient(place.server.url, { headers })

  test('gets the verdict', async () => {
    expect(await client().evaluate('cstp/allow', shell)).toMatchObject({ allow: false, verdict: 'deny' })
    expect(await client().evaluate('cstp', { tool: { name: 'read' } })).toMatchObject({ allow: true, violations: [] })
    expect(await client().evaluate('other/allow', shell)).toBeUndefined()
  })

  test('reads an error', async () => {
    const wrong = client().evaluate('cstp/allow', { action: { description: 'x', confidence: 7 } })
    await expect(wrong).rejects.toMatchObject({ name: 'ClientError', code: 'invalid_params' })
  })

  test('a denied payment passes when a person has granted it', async () => {
    type Result = { allow: boolean; reason: string; approval: { id: string; url: string; state: string } }
    const ask = () => client().evaluate<object, Result>('cstp/allow', { action: pay })
    const { allow, reason, approval } = await ask()
    expect([allow, approval.state]).toEqual([false, 'pending'])
    expect(reason).toContain(`approval ${approval.id} requested: ${approval.url}`)
    await place.server.call('decideApproval', { id: approval.id, decision: 'approve', reason: 'checked' }, 'root')
    expect(await ask()).toMatchObject({ allow: true, approval: { id: approval.id, state: 'consumed' } })
  })
})

describe('@ai-sdk/policy-opa', () => {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  /** A run in which the model calls a tool and then says that it is done. */
  async function run(toolName: 'shell' | 'read', url = place.server.url) {
    const executed: string[] = []
    const said: unknown[] = []
    const model = new MockLanguageModelV4({
      async doGenerate({ prompt }) {
        const answered = prompt.some(({ role }) => role === 'tool')
        if (answered) said.push(prompt.at(-1))
        return {
          content: answered
            ? [{ type: 'text', text: 'done' }]
            : [{ type: 'tool-call', toolCallId: 'c1', toolName, input: '{"command":"ls"}' }],
          finishReason: { unified: answered ? 'stop' : 'tool-calls', raw: undefined },
          usage,
          warnings: [],
        }
      },
    })
    const inputSchema = z.object({ command: z.string() })
    const make = (name: string) =>
      tool({
        inputSchema,
        execute: async () => {
          executed.push(name)
          return 'ok'
        },
      })
    const client = httpPolicyClient({ url, headers })
    await generateText({
      model,
      tools: { shell: make('shell'), read: make('read') },
      toolApproval: opaPolicy({ client, path: 'cstp/allow' }),
      stopWhen: isStepCount(3),
      prompt: 'List the files',
    })
    return { executed, said: JSON.stringify(said) }
  }

  test('runs a tool that is allowed', async () => {
    expect((await run('read')).executed).toEqual(['read'])
  })

  test('does not run one that is denied, and tells the model why', async () => {
    const { executed, said } = await run('shell')
    expect(executed).toEqual([])
    expect(said).toContain('no-shell: No shell here. What would allow it: Use the editor')
  })

  test('does not run one if the service is not there', async () => {
    const { executed, said } = await run('read', 'http://127.0.0.1:1')
    expect(executed).toEqual([])
    expect(said).toContain('policy evaluation failed')
  })
})
