/** What holds across surfaces: one deliberation, one trail, the same scopes and errors; calls that are given up. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { CstpError } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../../src/calls/dispatch.ts'
import { createServer } from '../../../src/surfaces/mcp/server.ts'
import { callers } from '../../support/program.ts'
import { type Agent, type Running, startServing, tokens } from '../../support/serving.ts'
import { lines, overHttp, overStdio, type Peer, use } from './peers.ts'

let server: Running
beforeAll(async () => {
  server = await startServing()
})
afterAll(() => server.stop())

const agents: Agent[] = ['root', 'ada', 'bob']

interface Recorded {
  recorded_by: string
  deliberation: { inputs: { type: string; content: string; source: string }[]; steps: { thought: string }[] }
}

/** Both ask something, and each decides. */
async function apart(a: Peer, b: Peer, read: (id: unknown) => Promise<Recorded>): Promise<void> {
  await use(a, 'query_decisions', { query: 'payment keys' })
  await use(b, 'query_decisions', { query: 'style sheets' })
  const asked = async (peer: Peer, decision: string) => {
    const { decision_id } = await use(peer, 'log_decision', { decision, category: 'tooling', confidence: 0.5 })
    const { inputs } = (await read(decision_id)).deliberation
    return inputs.flatMap(({ type, content }) => (type === 'query' ? [content] : []))
  }
  expect(await asked(b, 'Use Tailwind')).toEqual(['style sheets'])
  expect(await asked(a, 'Rotate the keys')).toEqual(['payment keys'])
}

const recorded = async (id: unknown, as: Agent) => (await server.call('getDecision', { id }, as)) as unknown as Recorded

describe.each(lines.map((line, index) => [line, agents[index]!] as const))('%s', (line, agent) => {
  let peer: Peer
  beforeAll(async () => {
    peer = await overHttp(line, server.url, tokens[agent])
  })
  afterAll(() => peer.close())

  test('what was asked and thought over HTTP and MCP is one deliberation', async () => {
    await server.call('recordThought', { text: 'thought over HTTP' }, agent)
    await use(peer, 'query_decisions', { query: 'asked over MCP' })
    await server.call('checkGuardrails', { action: { description: 'checked over HTTP' } }, agent)
    await use(peer, 'record_thought', { text: 'thought over MCP' })
    const { decision_id } = await use(peer, 'pre_action', { description: 'Go', category: 'process', confidence: 0.7 })
    const { recorded_by, deliberation } = await recorded(decision_id, agent)
    expect(recorded_by).toBe(agent)
    const contents = deliberation.inputs.map(({ content }) => content).join('\n')
    expect(contents).toContain('asked over MCP')
    expect(contents).toContain('checked over HTTP')
    const thoughts = deliberation.steps.map(({ thought }) => thought)
    expect(thoughts).toContain('thought over HTTP')
    expect(thoughts).toContain('thought over MCP')
    // And the other way round.
    await use(peer, 'record_thought', { text: 'begun over MCP' })
    const other = await server.call('recordDecision', { decision: 'Stay', category: 'process', confidence: 0.6 }, agent)
    expect((await recorded(other.decision_id, agent)).deliberation.steps.map(({ thought }) => thought)).toContain(
      'begun over MCP',
    )
  })

  // The newest revision has no sessions: its clients name one with the header cstp-session.
  if (!line.startsWith('v2 at'))
    test('two clients of one token have each its own deliberation', async () => {
      const other = await overHttp(line, server.url, tokens[agent])
      await apart(peer, other, (id) => recorded(id, agent))
      await other.close()
    })

  test('agents behind one token are kept apart by agent_id and decision_id', async () => {
    await use(peer, 'query_decisions', { query: 'of one', agent_id: 'one', tracker_scope: 'task' })
    await use(peer, 'query_decisions', { query: 'of two', agent_id: 'two' })
    const { decision_id } = await use(peer, 'log_decision', {
      decision: 'One',
      category: 'tooling',
      confidence: 0.5,
      agent_id: 'one',
      decision_id: 'task',
    })
    const contents = (await recorded(decision_id, agent)).deliberation.inputs.map(({ content }) => content)
    expect(contents).toEqual(['of one'])
  })

  test('every verdict and write is in the trail, under the agent and the method', async () => {
    await use(peer, 'check_action', { description: `trail of ${agent}` })
    const { entries } = (await server.call('listAudit', { agent, limit: 5 }, 'root')) as unknown as {
      entries: { method: string; agent: string }[]
    }
    expect(entries[0]).toMatchObject({ method: 'cstp.checkGuardrails', agent })
  })

  test('an unknown tool, prompt or resource is an error of the protocol', async () => {
    for (const name of ['get_decison', 'getDecision', 'reset_circuit', 'ingest_evidence', '__proto__', 'constructor'])
      await expect(peer.callTool({ name, arguments: {} })).rejects.toMatchObject({ code: -32602 })
    await expect(peer.callTool({ name: 'get_decison' })).rejects.toThrow('did you mean get_decision?')
    await expect(peer.getPrompt({ name: 'nope' })).rejects.toMatchObject({ code: -32602 })
    await expect(peer.getPrompt({ name: 'review', arguments: { id: 'deadbeef' } })).rejects.toMatchObject({
      code: -32602,
    })
    for (const uri of ['cstp://decisions/deadbeef', 'cstp://decisions/', 'cstp://decisions/%zz', 'file:///etc/passwd'])
      await expect(peer.readResource({ uri })).rejects.toMatchObject({ code: -32602 })
  })
})

test('a program on the same data shares the deliberation with the server', async () => {
  const peer = await overStdio('v1', server.dir, ['--agent', 'bob'])
  try {
    await use(peer, 'record_thought', { text: 'thought over stdio' })
    const { decision_id } = await server.call(
      'recordDecision',
      { decision: 'Together', category: 'process', confidence: 0.9 },
      'bob',
    )
    const found = (await use(peer, 'get_decision', { id: decision_id })) as unknown as Recorded
    expect(found.deliberation.steps.map(({ thought }) => thought)).toContain('thought over stdio')
  } finally {
    await peer.close()
  }
})

test('two programs of one agent have each its own deliberation', async () => {
  const forward = ['--agent', 'bob', '--token', tokens.bob.split(':')[1]!, '--url', server.url]
  const [a, b] = await Promise.all([overStdio('v1', server.dir, forward), overStdio('v1', server.dir, forward)])
  await apart(a, b, (id) => recorded(id, 'bob'))
  await Promise.all([a.close(), b.close()])
})

/** A client and a server joined in memory. */
async function joined(dispatch: Dispatch, as: keyof typeof callers = 'alice', stopping = new AbortController().signal) {
  const [here, there] = InMemoryTransport.createLinkedPair()
  await createServer({ caller: callers[as], dispatch, newRequestId: () => 'r1', stopping, since_ms: 1 }).connect(there)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(here as never)
  return client
}

describe('a call', () => {
  const hanging: Dispatch = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new CstpError('internal_error', 'given up')), { once: true })
    })

  test('that the client gives up ends', async () => {
    const ended = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const client = await joined((request) => {
      started.resolve()
      request.signal.addEventListener('abort', () => ended.resolve(), { once: true })
      return hanging(request)
    })
    const patience = new AbortController()
    const call = client.callTool({ name: 'ready' }, { signal: patience.signal })
    await started.promise
    patience.abort()
    await expect(call).rejects.toThrow()
    await ended.promise
    await client.close()
  })

  test('ends when the server stops', async () => {
    const stopping = new AbortController()
    const started = Promise.withResolvers<void>()
    const dispatch: Dispatch = (request) => {
      started.resolve()
      return hanging(request)
    }
    const client = await joined(dispatch, 'alice', stopping.signal)
    const call = client.callTool({ name: 'ready' })
    await started.promise
    stopping.abort()
    expect((await call).isError).toBe(true)
    await client.close()
  })

  test('has the caller, the method and a request id', async () => {
    const seen: unknown[] = []
    const client = await joined(async ({ signal: _, ...rest }) => {
      seen.push(rest)
      return {}
    }, 'reader')
    await client.callTool({ name: 'list_breakers', arguments: {} })
    expect(seen).toEqual([
      {
        ...{ method: 'cstp.listBreakers', params: {}, request_id: 'r1', traceparent: null },
        caller: { ...callers.reader, mcp: { client: 'test', since_ms: 1 } },
      },
    ])
    await client.close()
  })

  test('that fails in an unforeseen way reveals nothing of it', async () => {
    const client = await joined(() => Promise.reject(new Error('at /var/lib/secret')))
    const result = await client.callTool({ name: 'ready' })
    expect(result.content).toEqual([
      { type: 'text', text: '{"error":"internal_error","message":"Internal error","code":-32603}' },
    ])
    for (const work of [
      client.readResource({ uri: 'cstp://guardrails' }),
      client.listResources(),
      client.getPrompt({ name: 'review', arguments: { id: 'deadbeef' } }),
    ]) {
      const error = await work.catch((thrown: Error) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect((error as Error).message).not.toContain('secret')
    }
    await client.close()
  })
})
