/** The adapter of the OpenAI Agents SDK, in runs of its runner with a model that only calls a tool. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type GuardOptions, guardTool } from '../../../sdk/frameworks/openai-agents.ts'
import { away, type Called, calls, frameworkAt, openWorld, type World } from './world.ts'

const path = frameworkAt('@openai/agents')

interface Item {
  type: string
  output?: { text?: string }
}
interface Result {
  state: { approve(interruption: unknown): void; reject(interruption: unknown): void; toString(): string }
  interruptions: unknown[]
  finalOutput?: string
}
/** The parts of the package that are used here; it is loaded from where it is installed. */
interface Sdk {
  Agent: new (options: object) => object
  Runner: new (options: object) => { run(agent: object, input: unknown): Promise<Result> }
  RunState: { fromString(agent: object, text: string): Promise<unknown> }
  Usage: new () => object
  tool(options: object): object
}

describe.skipIf(path === null)('the OpenAI Agents SDK', () => {
  let world: World
  let sdk: Sdk
  beforeAll(async () => {
    sdk = (await import(path!)) as unknown as Sdk
    world = await openWorld()
  })
  afterAll(() => world?.close())

  /** An agent whose model repeats the call until it sees its output. */
  function agentFor({ tool: name, input }: Called, options: Partial<GuardOptions> = {}) {
    const executed: unknown[] = []
    const heard: string[] = []
    const model = {
      async getResponse({ input: items }: { input: Item[] }) {
        const results = items.filter(({ type }) => type === 'function_call_result')
        heard.push(...results.map(({ output }) => output?.text ?? ''))
        const said = {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'done' }],
        }
        const call = {
          type: 'function_call',
          callId: 'c1',
          name,
          arguments: JSON.stringify(input),
          status: 'completed',
        }
        return { usage: new sdk.Usage(), output: [results.length > 0 ? said : call] }
      },
    }
    const parameters = { type: 'object', properties: {}, required: [], additionalProperties: true }
    const tool = sdk.tool({
      name,
      description: name,
      parameters,
      strict: false,
      execute: async (given: unknown) => {
        executed.push(given)
        return 'ok'
      },
      ...guardTool(name, { client: world.client, ...options }),
    })
    const agent = new sdk.Agent({ name: 'a', model, tools: [tool] })
    const runner = new sdk.Runner({ tracingDisabled: true })
    return { agent, executed, heard, run: (given: unknown = 'Go') => runner.run(agent, given) }
  }

  test('a call that is allowed runs, and is checked once', async () => {
    const { run, executed } = agentFor(calls.allowed)
    const before = (await world.trail()).length
    expect((await run()).finalOutput).toBe('done')
    expect(executed).toEqual([calls.allowed.input])
    expect((await world.trail()).length - before).toBe(1)
    expect(await world.seen()).toMatchObject({ category: 'tool_use', context: calls.allowed })
  })

  test('a call that is denied does not run, and the model gets the reason', async () => {
    const { run, executed, heard } = agentFor(calls.denied)
    await run()
    expect(executed).toEqual([])
    expect(heard.join()).toContain('no-shell: No shell here. What would allow it: Use the editor')
  })

  test('a call that rules would change is rejected with the input that passes', async () => {
    const { run, executed, heard } = agentFor(calls.changed)
    await run()
    expect(executed).toEqual([])
    expect(heard.join()).toContain('Call it again with {"to":"team@example.test","text":"Hello"}')
  })

  test('a call that waits for a person interrupts the run, and runs when that was granted in cstp', async () => {
    const { run, executed } = agentFor(calls.held)
    const { state, interruptions } = await run()
    expect([executed, interruptions.length]).toEqual([[], 1])
    await world.answer('approve', calls.held)
    state.approve(interruptions[0])
    expect((await run(state)).finalOutput).toBe('done')
    expect(executed).toEqual([calls.held.input])
  })

  test('so it is if the run goes on in another process', async () => {
    const other = { tool: 'pay', input: { amount: 6500 } } as const
    const first = agentFor(other)
    const { state, interruptions } = await first.run()
    state.approve(interruptions[0])
    await world.answer('approve', other)
    const second = agentFor(other)
    await second.run(await sdk.RunState.fromString(second.agent, state.toString()))
    expect([first.executed, second.executed]).toEqual([[], [other.input]])
  })

  test('it does not run because somebody at the keyboard said yes', async () => {
    const other = { tool: 'pay', input: { amount: 7000 } } as const
    const { run, executed, heard } = agentFor(other)
    const { state, interruptions } = await run()
    state.approve(interruptions[0])
    await run(state)
    expect(executed).toEqual([])
    expect(heard.join()).toMatch(/approval [0-9A-Z]{4}-[0-9A-Z]{4} requested: http/)
  })

  test('if the service is not there nothing runs, unless that was chosen', async () => {
    const closed = agentFor(calls.allowed, { client: away })
    await closed.run()
    expect(closed.executed).toEqual([])
    expect(closed.heard.join()).toContain('the policy could not be checked')
    const open = agentFor(calls.allowed, { client: away, fail: 'open' })
    await open.run()
    expect(open.executed).toHaveLength(1)
  })
})
