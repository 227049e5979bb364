/**
 * The adapter of the Claude Agent SDK: the SDK itself, with a program in place of Claude Code; and with Claude Code and a model that only
 * calls a tool, where its program is installed beside the SDK.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ClaudeAgentOptions, guardHooks } from '../../../sdk/frameworks/claude-agent.ts'
import { away, type Called, calls, frameworkAt, openWorld, type World } from './world.ts'

const path = frameworkAt('@anthropic-ai/claude-agent-sdk')
const zod = frameworkAt('zod')
const program = await (async () => {
  if (path === null) return null
  const file = join(dirname(path), `../claude-agent-sdk-${process.platform}-${process.arch}/claude`)
  return (await Bun.file(file).exists()) ? file : null
})()

/** The parts of the package that are used here; it is loaded from where it is installed. */
interface Sdk {
  query(given: { prompt: string; options: object }): AsyncIterable<{ type: string; result?: string }>
  createSdkMcpServer(options: object): object
  tool(name: string, description: string, schema: object, execute: (given: unknown) => Promise<object>): object
}
interface Ended {
  executed: unknown[]
  heard: string
}

describe.skipIf(path === null)('the Claude Agent SDK', () => {
  let world: World
  let sdk: Sdk
  let home: string
  beforeAll(async () => {
    sdk = (await import(path!)) as unknown as Sdk
    world = await openWorld()
    home = await mkdtemp(join(tmpdir(), 'cstp-claude-'))
  })
  afterAll(async () => {
    await world?.close()
    await rm(home, { recursive: true, force: true })
  })
  const env = () => ({ PATH: process.env.PATH ?? '', HOME: home })

  /** A session that makes the call with the program in place of Claude Code. */
  async function simulated(call: Called, options: Partial<ClaudeAgentOptions>): Promise<Ended> {
    const executable = join(import.meta.dir, 'claude-code.ts')
    const given = {
      pathToClaudeCodeExecutable: executable,
      executable: process.execPath,
      env: { ...env(), CALL: JSON.stringify(call) },
      hooks: guardHooks({ client: world.client, ...options }),
    }
    for await (const { type, result } of sdk.query({ prompt: 'Go', options: given }))
      if (type === 'result') return JSON.parse(result!) as Ended
    throw new Error('it ended without a result')
  }

  /** A session of Claude Code, whose tools have the names of a server of MCP in front. */
  async function real({ tool: name, input }: Called, options: Partial<ClaudeAgentOptions>): Promise<Ended> {
    const { z } = (await import(zod!)) as { z: { any(): unknown } }
    const executed: unknown[] = []
    const shape = Object.fromEntries(Object.keys(input).map((key) => [key, z.any()]))
    const tool = sdk.tool(name, name, shape, async (given) => {
      executed.push(given)
      return { content: [{ type: 'text', text: 'ok' }] }
    })
    const server = sdk.createSdkMcpServer({ name: 't', version: '1', alwaysLoad: true, tools: [tool] })
    const model = modelThatCalls({ name: `mcp__t__${name}`, input })
    try {
      const given = {
        pathToClaudeCodeExecutable: program!,
        env: { ...env(), ...model.env },
        cwd: home,
        settingSources: [],
        mcpServers: { t: server },
        allowedTools: [`mcp__t__${name}`],
        hooks: guardHooks({ client: world.client, ...options }),
      }
      for await (const _ of sdk.query({ prompt: 'Go', options: given }));
      return { executed, heard: model.heard() }
    } finally {
      await model.close()
    }
  }

  const ways: [string, typeof simulated][] = [['a program in place of Claude Code', simulated]]
  if (program !== null) ways.push(['Claude Code', real])

  describe.each(ways)('with %s', (_, run) => {
    test('a call that is allowed runs, and the rules saw it', async () => {
      expect((await run(calls.allowed, {})).executed).toEqual([calls.allowed.input])
      expect((await world.seen()).context).toMatchObject({ input: calls.allowed.input })
    })

    test('a call that is denied does not run, and the model gets the reason', async () => {
      const { executed, heard } = await run(calls.denied, {})
      expect(executed).toEqual([])
      expect(heard).toContain('no-shell: No shell here. What would allow it: Use the editor')
    })

    test('a call that rules change runs as they changed it, and the model gets the difference', async () => {
      const { executed, heard } = await run(calls.changed, {})
      expect(executed).toEqual([{ to: 'team@example.test', text: 'Hello' }])
      expect(heard).toContain('Changed by policy: input.to from')
    })

    test('a call that waits for a person is denied with the approval, and runs when it is tried again after the grant', async () => {
      const { executed, heard } = await run(calls.held, {})
      expect(executed).toEqual([])
      expect(heard).toMatch(/approval [0-9A-Z]{4}-[0-9A-Z]{4} requested: http/)
      await world.answer('approve', calls.held)
      expect((await run(calls.held, {})).executed).toEqual([calls.held.input])
    })

    test('if the service is not there nothing runs, unless that was chosen', async () => {
      const { executed, heard } = await run(calls.allowed, { client: away })
      expect(executed).toEqual([])
      expect(heard).toContain('the policy could not be checked')
      expect((await run(calls.allowed, { client: away, fail: 'open' })).executed).toHaveLength(1)
    })
  })
})

/** An API of Anthropic's whose model makes the call once, and is done when it has its result. */
function modelThatCalls({ name, input }: { name: string; input: unknown }) {
  let heard = ''
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (!new URL(request.url).pathname.endsWith('/messages')) return Response.json({})
      const {
        messages,
        model,
        tools = [],
      } = (await request.json()) as {
        messages: { content: string | { type: string }[] }[]
        model: string
        tools?: unknown[]
      }
      const isAnswered = messages.some(
        ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'tool_result'),
      )
      if (isAnswered) heard = JSON.stringify(messages)
      const calling = !isAnswered && tools.length > 0
      const block = calling ? { type: 'tool_use', id: 'toolu_1', name, input: {} } : { type: 'text', text: '' }
      const delta = calling
        ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
        : { type: 'text_delta', text: 'done' }
      const usage = { input_tokens: 1, output_tokens: 1 }
      const message = { id: 'm', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage }
      const stop_reason = calling ? 'tool_use' : 'end_turn'
      const events = [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason }, usage },
        { type: 'message_stop' },
      ]
      const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
      return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return {
    env: {
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.port}`,
      ANTHROPIC_API_KEY: 'key-of-the-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
    heard: () => heard,
    close: () => server.stop(true),
  }
}
