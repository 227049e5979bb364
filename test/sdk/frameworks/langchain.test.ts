/** The adapter of LangChain, in agents of `createAgent` with a model that only calls a tool. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type GuardOptions, wrapToolCall } from '../../../sdk/frameworks/langchain.ts'
import { away, type Called, calls, frameworkAt, openWorld, type World } from './world.ts'

const paths = ['langchain', '@langchain/core/utils/testing', '@langchain/langgraph'].map(frameworkAt)

interface Message {
  content: unknown
  tool_calls?: unknown[]
  status?: string
}
interface Agent {
  invoke(
    input: unknown,
    config?: object,
  ): Promise<{ messages: Message[]; __interrupt__?: { value: { approval: object } }[] }>
}
/** The parts of the packages that are used here; they are loaded from where they are installed. */
interface Sdk {
  createAgent(options: object): Agent
  createMiddleware(options: object): object
  tool(execute: (input: unknown) => unknown, options: object): object
  ToolMessage: new (fields: object) => object
  AIMessage: new (fields: object) => object
  FakeChatModel: new (fields: object) => object
  interrupt(value: unknown): unknown
  Command: new (fields: object) => object
  MemorySaver: new () => object
}

describe.skipIf(paths.includes(null))('LangChain', () => {
  let world: World
  let sdk: Sdk
  beforeAll(async () => {
    sdk = Object.assign({}, ...(await Promise.all(paths.map((path) => import(path!))))) as Sdk
    world = await openWorld()
  })
  afterAll(() => world?.close())

  interface More {
    options?: Partial<GuardOptions>
    /** Whether the graph can be interrupted. */
    interrupts?: boolean
  }

  function agentFor({ tool: name, input }: Called, { options, interrupts = false }: More = {}) {
    const executed: unknown[] = []
    const call = { name, args: input, id: 'c1', type: 'tool_call' }
    const model = Object.assign(new sdk.FakeChatModel({}), {
      bindTools: () => model,
      async _generate(messages: Message[]) {
        const isAnswered = messages.at(-1)?.constructor.name === 'ToolMessage'
        const message = new sdk.AIMessage(isAnswered ? { content: 'done' } : { content: '', tool_calls: [call] })
        return { generations: [{ text: '', message }] }
      },
    }) as object
    const execute = (given: unknown) => {
      executed.push(given)
      return 'ok'
    }
    const schema = { type: 'object', properties: {}, additionalProperties: true }
    const { ToolMessage, interrupt } = sdk
    const guard = wrapToolCall({ client: world.client, ToolMessage, ...(interrupts && { interrupt }), ...options })
    const agent = sdk.createAgent({
      model,
      tools: [sdk.tool(execute, { name, description: name, schema })],
      middleware: [sdk.createMiddleware({ name: 'cstp', wrapToolCall: guard })],
      ...(interrupts && { checkpointer: new sdk.MemorySaver() }),
    })
    const config = { configurable: { thread_id: '1' } }
    return {
      executed,
      async run(given: object = { messages: [{ role: 'user', content: 'Go' }] }) {
        const { messages, __interrupt__: interrupted = [] } = await agent.invoke(given, config)
        const result = messages.findLast((message) => message.constructor.name === 'ToolMessage')
        return { heard: result?.content, status: result?.status, interrupted }
      },
    }
  }

  test('a call that is allowed runs, and the rules saw it', async () => {
    const { run, executed } = agentFor(calls.allowed)
    expect((await run()).heard).toBe('ok')
    expect(executed).toEqual([calls.allowed.input])
    expect(await world.seen()).toMatchObject({ category: 'tool_use', context: calls.allowed })
  })

  test('a call that is denied does not run, and the model gets the reason', async () => {
    const { run, executed } = agentFor(calls.denied)
    const { heard, status } = await run()
    expect([executed, status]).toEqual([[], 'error'])
    expect(heard).toBe('Not allowed by policy. no-shell: No shell here. What would allow it: Use the editor')
  })

  test('a call that rules change runs as they changed it, and the model gets the difference', async () => {
    const { run, executed } = agentFor(calls.changed)
    const { heard } = await run()
    expect(executed).toEqual([{ to: 'team@example.test', text: 'Hello' }])
    expect(heard).toBe('Changed by policy: input.to from "press@example.com" to "team@example.test" (mail-inside)\nok')
  })

  test('a call that waits for a person is rejected with the approval, and runs when it is tried again after the grant', async () => {
    const { run, executed } = agentFor(calls.held)
    expect((await run()).heard).toMatch(/approval [0-9A-Z]{4}-[0-9A-Z]{4} requested: http/)
    await world.answer('approve', calls.held)
    expect((await agentFor(calls.held).run()).heard).toBe('ok')
    expect(executed).toEqual([])
  })

  test('with interrupt it interrupts the graph, and runs when that is resumed after the grant', async () => {
    const { run, executed } = agentFor(calls.held, { interrupts: true })
    const { interrupted } = await run()
    expect([executed, interrupted.map(({ value }) => value.approval)]).toMatchObject([[], [{ state: 'pending' }]])
    await world.answer('approve', calls.held)
    expect((await run(new sdk.Command({ resume: true }))).heard).toBe('ok')
    expect(executed).toEqual([calls.held.input])
  })

  test('it does not run because somebody resumed the graph', async () => {
    const other = { tool: 'pay', input: { amount: 7000 } } as const
    const { run, executed } = agentFor(other, { interrupts: true })
    await run()
    const { heard, status } = await run(new sdk.Command({ resume: true }))
    expect([executed, status]).toEqual([[], 'error'])
    expect(heard).toContain('requested: http')
  })

  test('if the service is not there nothing runs, unless that was chosen', async () => {
    const closed = agentFor(calls.allowed, { options: { client: away } })
    expect((await closed.run()).heard).toContain('the policy could not be checked')
    const open = agentFor(calls.allowed, { options: { client: away, fail: 'open' } })
    expect((await open.run()).heard).toBe('ok')
    expect([closed.executed, open.executed.length]).toEqual([[], 1])
  })
})
