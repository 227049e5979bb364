/** The adapter of the AI SDK, in runs of `generateText` and `streamText` with a model that only calls a tool. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateText, isStepCount, type ModelMessage, type ToolSet, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as z from 'zod'
import { toolApproval } from '../../../sdk/frameworks/ai.ts'
import type { GuardOptions } from '../../../sdk/frameworks/guard.ts'
import { away, type Called, calls, openWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

interface More {
  options?: Partial<GuardOptions>
  /** Of a run that goes on. */
  messages?: ModelMessage[]
  needsApproval?: boolean
}

/** What the model sees of a call. */
const told = (part: { type: string; output?: unknown }): string => {
  const { reason, value } = part.output as { reason?: string; value?: string }
  return reason ?? value ?? ''
}

/** A run in which the model makes the call unless it has an answer to it already. */
async function run({ tool: toolName, input }: Called, { options, messages = [], needsApproval }: More = {}) {
  const executed: unknown[] = []
  const heard: string[] = []
  const model = new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const last = prompt.at(-1)!
      const isAnswered = last.role === 'tool'
      if (isAnswered) heard.push(...last.content.map(told))
      return {
        content: isAnswered
          ? [{ type: 'text', text: 'done' }]
          : [{ type: 'tool-call', toolCallId: 'c1', toolName, input: JSON.stringify(input) }],
        finishReason: { unified: isAnswered ? 'stop' : 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      }
    },
  })
  const tools: ToolSet = {
    [toolName]: tool({
      inputSchema: z.record(z.string(), z.unknown()),
      ...(needsApproval !== undefined && { needsApproval }),
      execute: async (given) => {
        executed.push(given)
        return 'ok'
      },
    }),
  }
  const all: ModelMessage[] = [{ role: 'user', content: 'Go' }, ...messages]
  const { content, response } = await generateText({
    model,
    tools,
    toolApproval: toolApproval({ client: world.client, ...options }),
    stopWhen: isStepCount(3),
    messages: all,
  })
  const [request] = content.flatMap((part) =>
    part.type === 'tool-approval-request' && !part.isAutomatic ? [part] : [],
  )
  return { executed, heard: heard.join('\n'), request, messages: response.messages as ModelMessage[] }
}

/** The messages of a run whose approval request a person answered in the application. */
const answered = ({ request, messages }: Awaited<ReturnType<typeof run>>, approved = true): ModelMessage[] => [
  ...messages,
  { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: request!.approvalId, approved }] },
]

test('a call that is allowed runs, and the rules saw it', async () => {
  const { executed } = await run(calls.allowed)
  expect(executed).toEqual([calls.allowed.input])
  expect(await world.seen()).toMatchObject({
    category: 'tool_use',
    description: 'read {"path":"notes.md"}',
    context: calls.allowed,
  })
})

test('a call that is denied does not run, and the model gets rule, message and what would be allowed', async () => {
  const { executed, heard } = await run(calls.denied)
  expect(executed).toEqual([])
  expect(heard).toContain('Not allowed by policy. no-shell: No shell here. What would allow it: Use the editor')
})

test('a call that rules would change is denied with the input that passes', async () => {
  const { executed, heard } = await run(calls.changed)
  expect(executed).toEqual([])
  const input = { to: 'team@example.test', text: 'Hello' }
  expect(heard).toEndWith(`Call it again with ${JSON.stringify(input)}`)
  expect((await run({ tool: 'mail', input })).executed).toEqual([input])
})

describe('a call that waits for a person', () => {
  test('ends the run with a request, and runs when that was granted in cstp', async () => {
    const first = await run(calls.held)
    expect([first.executed, first.heard]).toEqual([[], ''])
    expect(first.request).toBeDefined()
    await world.answer('approve', calls.held)
    const second = await run(calls.held, { messages: answered(first) })
    expect(second.executed).toEqual([calls.held.input])
    // The grant is used up.
    expect((await run(calls.held)).request).toBeDefined()
    await world.answer('deny', calls.held)
  })

  test('does not run because somebody at the keyboard said yes', async () => {
    const other = { tool: 'pay', input: { amount: 7000 } } as const
    const first = await run(other)
    const second = await run(other, { messages: answered(first) })
    expect(second.executed).toEqual([])
    expect(second.heard).toMatch(/approval [0-9A-Z]{4}-[0-9A-Z]{4} requested: http/)
  })

  test('does not run after it was denied', async () => {
    const other = { tool: 'pay', input: { amount: 8000 } } as const
    const first = await run(other)
    await world.answer('deny', other)
    expect((await run(other, { messages: answered(first) })).executed).toEqual([])
    const again = await run(other)
    expect(again.executed).toEqual([])
    expect(again.request).toBeUndefined()
    expect(again.heard).toContain('looked at it')
  })
})
test('what a tool asks for itself is still asked for', async () => {
  expect((await run(calls.allowed, { needsApproval: true })).request).toBeDefined()
  expect((await run(calls.allowed, { needsApproval: false })).executed).toHaveLength(1)
})

test('if the service is not there nothing runs, unless that was chosen', async () => {
  const closed = await run(calls.allowed, { options: { client: away } })
  expect(closed.executed).toEqual([])
  expect(closed.heard).toContain('the policy could not be checked')
  expect((await run(calls.allowed, { options: { client: away, fail: 'open' } })).executed).toHaveLength(1)
})
