/**
 * The MCP inspector in its command-line mode lists and calls every tool. It is no dependency, as it brings a web application along:
 * CSTP_INSPECTOR names its program, which `.ci/run` installs beside the project.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toolNames } from '../../../src/calls/method.ts'
import { bareEnv, cstpCommand, root, run } from '../../support/process.ts'
import { type Running, startServing, tokens } from '../../support/serving.ts'
import { jsonOf, type ToolResult } from './peers.ts'

const inspector = process.env.CSTP_INSPECTOR
if (!inspector) console.warn('CSTP_INSPECTOR is not set: the tests with the MCP inspector are skipped')

let server: Running
let home: string
beforeAll(async () => {
  server = await startServing()
  home = await mkdtemp(join(tmpdir(), 'cstp-inspector-'))
})
afterAll(async () => {
  await server.stop()
  await rm(home, { recursive: true, force: true })
})

/** How the inspector reaches a server. */
const targets = {
  http: () => [`${server.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${tokens.ada}`],
  stdio: () => [...cstpCommand, 'mcp', '--data-dir', server.dir, '--agent', 'bob', '--embedder', 'hash'],
}

async function inspect(target: keyof typeof targets, args: string[]): Promise<Record<string, unknown>> {
  const { out, err, status } = await run(
    [process.execPath, '--bun', inspector!, '--cli', ...targets[target](), ...args],
    { cwd: root, env: bareEnv(home) },
  )
  if (status !== 0) throw new Error(`the inspector ended with ${status}: ${err}${out}`)
  return JSON.parse(out)
}

async function call(
  target: keyof typeof targets,
  name: string,
  input: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const pairs = Object.entries(input).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`])
  const result = (await inspect(target, ['--method', 'tools/call', '--tool-name', name, ...pairs])) as unknown
  const { isError, structuredContent } = result as ToolResult
  if (isError) throw new Error(`${name}: ${(result as ToolResult).content[0]?.text}`)
  expect(jsonOf(result as ToolResult)).toEqual(structuredContent!)
  return structuredContent!
}

describe.skipIf(!inspector).each(Object.keys(targets) as (keyof typeof targets)[])('over %s', (target) => {
  test('it finds nothing wrong with the schemas', async () => {
    const { tools } = (await inspect(target, ['--method', 'tools/list', '--strict'])) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual([...toolNames])
  })

  // What a tool does is the same over both; over stdio each call starts two programs.
  test(target === 'http' ? 'it calls every tool' : 'it calls tools', async () => {
    const used = new Set<string>()
    const use = (name: string, input?: Record<string, string>) => {
      used.add(name)
      return call(target, name, input)
    }
    const [first, second] = (await Promise.all([
      use('pre_action', { description: 'Use SQLite', category: 'tooling', confidence: '0.8' }),
      use('log_decision', { decision: 'Use WAL', category: 'tooling', confidence: '0.9', tags: '["storage"]' }),
    ])) as [{ decision_id: string }, { decision_id: string }]
    const id = first.decision_id
    await use('link_decisions', { source_id: id, target_id: second.decision_id, edge_type: 'relates_to' })
    await use('unlink_decisions', { source_id: second.decision_id, target_id: id, edge_type: 'relates_to' })
    const work: [string, Record<string, string>?][] = [
      ['query_decisions', { query: 'which database?', limit: '3', filters: '{"has_outcome":false}' }],
      ['check_action', { description: 'Drop a table', context: '{"environment":"test"}' }],
      ['get_stats', { window: '30d' }],
      ['get_graph', { decision_id: id }],
      ['get_neighbors', { decision_id: id }],
      ['get_session_context'],
      ['ready'],
      ['get_decision', { id }],
      ['update_decision', { id, updates: '{"confidence":0.7}' }],
      ['record_thought', { text: 'One file is easy to back up' }],
      ['get_reason_stats'],
      ['list_guardrails'],
      ['get_circuit_state', { scope: 'stakes:critical' }],
      ['list_breakers'],
      ['review_outcome', { id: second.decision_id, outcome: 'success' }],
    ]
    if (target === 'stdio') work.splice(3)
    // Two at a time: each is a process of its own.
    while (work.length > 0) await Promise.all(work.splice(0, 2).map(([name, input]) => use(name, input)))
    if (target === 'http') expect([...used].sort()).toEqual([...toolNames].sort())
  }, 120_000)

  test('it reads resources and prompts', async () => {
    const { resources } = (await inspect(target, ['--method', 'resources/list'])) as { resources: { uri: string }[] }
    expect(resources.length).toBeGreaterThan(2)
    await inspect(target, ['--method', 'resources/read', '--uri', 'cstp://guardrails'])
    await inspect(target, ['--method', 'prompts/get', '--prompt-name', 'decision_protocol'])
  })
})
