/** What holds across surfaces: one deliberation, one trail, the same scopes and errors; calls that are given up. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { CstpError } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../../src/calls/dispatch.ts'
import { createServer } from '../../../src/surfaces/mcp/server.ts'
import { inTemporaryDir } from '../../support/process.ts'
import { callers } from '../../support/program.ts'
import { type Agent, type Running, startServing, tokens } from '../../support/serving.ts'
import { jsonOf, lines, overHttp, overStdio, type Peer, use } from './peers.ts'

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

  test('refusals are results that a model can read', async () => {
    const refused = async (name: string, input: Record<string, unknown>) => {
      const result = await peer.callTool({ name, arguments: input })
      expect(result.isError).toBe(true)
      expect(result.structuredContent).toBeUndefined()
      return jsonOf(result)
    }
    expect(await refused('query_decisions', { query: 'x', limit: 51 })).toEqual({
      error: 'validation_error',
      message: '1 validation error for QueryDecisionsInput: limit: expected at most 50, received 51',
      code: -32602,
    })
    expect(await refused('log_decision', {})).toEqual({
      error: 'validation_error',
      message:
        '3 validation errors for LogDecisionInput: decision: is required; confidence: is required; category: is required',
      code: -32602,
    })
    expect(await refused('check_action', { descripton: 'x' })).toMatchObject({
      message: expect.stringMatching(/^1 validation error for CheckActionInput: .*did you mean description\?/),
    })
    expect(await refused('check_action', { description: 'x', context: { a: 'x'.repeat(70_000) } })).toMatchObject({
      message: expect.stringMatching(/^1 validation error for CheckActionInput: context: /),
    })
    expect(await refused('review_outcome', { id: 'abc', outcome: 'success' })).toMatchObject({
      message: expect.stringMatching(/^1 validation error for ReviewOutcomeInput: id: /),
    })
    expect(await refused('review_outcome', { id: 'deadbeef', outcome: 'success' })).toEqual({
      error: 'validation_error',
      message: '1 validation error for ReviewOutcomeInput: Decision not found: deadbeef',
      code: -32007,
    })
    expect(await refused('get_decision', { id: '2026-01-01-decision-000000000000' })).toMatchObject({ code: -32007 })
    expect(await refused('log_decision', { decision: 'a\ud800', confidence: 1, category: 'x' })).toMatchObject({
      error: 'validation_error',
    })
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

test('a blocked record says what blocked it', async () => {
  const strict = await startServing({ CSTP_RECORD_GUARDRAILS: 'block' })
  const peer = await overHttp('v2', strict.url, tokens.bob)
  try {
    const guess = { decision: 'Drop it', confidence: 0.1, category: 'process', stakes: 'critical' }
    const refused = await peer.callTool({ name: 'log_decision', arguments: guess })
    expect(jsonOf(refused)).toMatchObject({
      error: 'internal_error',
      code: -32005,
      data: { violations: [{ severity: 'block' }] },
    })
    const asked = await use(peer, 'pre_action', { description: 'Drop it', confidence: 0.1, stakes: 'critical' })
    expect(asked).toMatchObject({ allowed: false, decision_id: null })
  } finally {
    await peer.close()
    await strict.stop()
  }
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

/** A client and a server joined in memory. */
async function joined(dispatch: Dispatch, as: keyof typeof callers = 'alice', stopping = new AbortController().signal) {
  const [here, there] = InMemoryTransport.createLinkedPair()
  await createServer({ caller: callers[as], dispatch, newRequestId: () => 'r1', stopping }).connect(there)
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
    expect(seen).toEqual([{ method: 'cstp.listBreakers', params: {}, caller: callers.reader, request_id: 'r1' }])
    await client.close()
  })

  test('that fails in an unforeseen way tells nothing of it', async () => {
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

test('an agent without the scope is told so', () =>
  inTemporaryDir(async (dir) => {
    const config = `${dir}/cstp.yaml`
    await Bun.write(config, 'auth:\n  tokens:\n    - { agent: ada, token: ada-t0ken-of-tests, scopes: [read] }\n')
    const readers = await startServing({ CSTP_AUTH_TOKENS: '' }, config)
    const peer = await overHttp('v2', readers.url, tokens.ada)
    try {
      expect((await peer.callTool({ name: 'ready' })).isError).toBeFalsy()
      const refused = await peer.callTool({ name: 'record_thought', arguments: { text: 'x' } })
      expect(jsonOf(refused)).toMatchObject({ error: 'internal_error', code: -32001 })
    } finally {
      await peer.close()
      await readers.stop()
    }
  }))
