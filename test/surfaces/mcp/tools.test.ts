/** Clients of both lines list and call every tool, over HTTP and stdio, in every family of revisions. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { Tiktoken } from 'js-tiktoken/lite'
import cl100k from 'js-tiktoken/ranks/cl100k_base'
import o200k from 'js-tiktoken/ranks/o200k_base'
import { toolNames } from '../../../src/calls/method.ts'
import { methods } from '../../../src/methods/table.ts'
import { inTemporaryDir, testDir } from '../../support/process.ts'
import { type Agent, type Running, startServing, tokens } from '../../support/serving.ts'
import { jsonOf, lines, overHttp, overStdio, type Peer, use } from './peers.ts'

let server: Running
beforeAll(async () => {
  server = await startServing()
})
afterAll(() => server.stop())

const agents: Agent[] = ['root', 'ada', 'bob']
const validator = new AjvJsonSchemaValidator()

/** Calls every tool once or more. @throws where a call is refused or its result is not what its schema says */
async function useAll(peer: Peer, project: string): Promise<string[]> {
  const { tools } = await peer.listTools()
  const schemas = new Map(tools.map(({ name, outputSchema }) => [name, outputSchema!]))
  const used = new Set<string>()
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const result = await peer.callTool({ name, arguments: input })
    if (result.isError) throw new Error(`${name}: ${result.content[0]?.text}`)
    expect(result.content).toHaveLength(1)
    expect(jsonOf(result)).toEqual(result.structuredContent!)
    const checked = validator.getValidator(schemas.get(name) as never)(result.structuredContent)
    if (!checked.valid) throw new Error(`${name}: ${checked.errorMessage}`)
    used.add(name)
    return result.structuredContent!
  }
  const { markdown } = await call('get_session_context', { task_description: 'choose a database' })
  expect(markdown).toBeString()
  await call('query_decisions', { query: 'which database?', filters: { stakes: 'high', has_outcome: true } })
  expect(await call('check_action', { description: 'Use SQLite', context: { environment: 'test' } })).toMatchObject({
    allowed: true,
  })
  expect(await call('record_thought', { text: 'One file is easy to back up' })).toMatchObject({ mode: 'pre-decision' })
  const { decision_id: first } = await call('pre_action', {
    description: 'Use SQLite for the catalogue',
    category: 'architecture',
    stakes: 'low',
    confidence: 0.8,
    reasons: [{ type: 'analysis', text: 'one process writes' }],
    tags: ['storage'],
    pattern: 'Embed until you must not',
    project,
    context: { team: 'core' },
  })
  const { decision_id: second } = await call('log_decision', {
    decision: 'Use WAL mode',
    confidence: 0.9,
    category: 'architecture',
    reasons: [{ type: 'pattern', text: 'readers do not block' }],
    tags: ['storage'],
    project,
    feature: 'catalogue',
    pr: 7,
  })
  await call('link_decisions', { source_id: second, target_id: first, edge_type: 'depends_on' })
  expect(await call('get_neighbors', { decision_id: second, edge_type: 'depends_on' })).toMatchObject({
    neighbors: [{ id: first, weight: 1 }],
  })
  expect(await call('unlink_decisions', { source_id: first, target_id: second, edge_type: 'depends_on' })).toEqual({
    removed: false,
  })
  expect(await call('get_graph', { decision_id: first, depth: 2 })).toMatchObject({ center_id: first })
  await call('update_decision', { id: second, updates: { confidence: 0.85 } })
  expect(await call('get_decision', { id: second })).toMatchObject({
    confidence: 0.85,
    project: { name: project, feature: 'catalogue', pr: 7 },
  })
  const hex = (second as string).split('-').at(-1)!.slice(0, 8)
  expect(
    await call('review_outcome', { id: hex, outcome: 'success', actual_result: 'fast', lessons: 'keep', notes: '' }),
  ).toMatchObject({ decision_id: second, status: 'reviewed' })
  expect(await call('get_stats', { project, window: '30d' })).toMatchObject({ reviewed_decisions: 1 })
  await call('get_reason_stats')
  await call('ready')
  await call('list_guardrails')
  const { breakers } = await call('list_breakers')
  const [{ scope }] = breakers as [{ scope: string }]
  expect(await call('get_circuit_state', { scope })).toMatchObject({ scope, state: 'closed' })
  return [...used].sort()
}

async function readAll(peer: Peer): Promise<void> {
  const { resources } = await peer.listResources()
  expect(resources.slice(0, 2).map(({ uri }) => uri)).toEqual(['cstp://session-context', 'cstp://guardrails'])
  const decision = resources[2]!
  for (const { uri, mimeType } of resources.slice(0, 3)) {
    const { contents } = await peer.readResource({ uri })
    expect(contents).toHaveLength(1)
    expect(contents[0]).toMatchObject({ uri, mimeType: mimeType! })
    expect(contents[0]!.text).not.toBe('')
  }
  expect((await peer.listResourceTemplates()).resourceTemplates).toEqual([
    expect.objectContaining({ uriTemplate: 'cstp://decisions/{id}' }),
  ])
  const { prompts } = await peer.listPrompts()
  expect(prompts.map(({ name }) => name)).toEqual(['decision_protocol', 'review'])
  const protocol = await peer.getPrompt({ name: 'decision_protocol', arguments: { task: 'pick a colour' } })
  expect(protocol.messages[0]!.content.text).toContain('pick a colour')
  const review = await peer.getPrompt({ name: 'review', arguments: { id: decision.name } })
  expect(review.messages[1]!.content.resource).toMatchObject({ uri: decision.uri })
  expect((await peer.getPrompt({ name: 'review' })).messages).toHaveLength(1)
}

async function meet(peer: Peer, project: string): Promise<void> {
  try {
    expect(peer.getServerVersion()).toMatchObject({ name: 'cstp', version: '0.10.0' })
    expect(peer.getInstructions()).toContain('pre_action')
    expect(await useAll(peer, project)).toEqual([...toolNames].sort())
    await readAll(peer)
  } finally {
    await peer.close()
  }
}

describe.each(lines.map((line, index) => [line, agents[index]!] as const))('%s', (line, agent) => {
  test('over HTTP', async () => meet(await overHttp(line, server.url, tokens[agent]), `acme/${agent}`))
  test('over stdio', () =>
    inTemporaryDir(async (dir) => meet(await overStdio(line, dir, ['--agent', 'planner']), 'acme/shop')))
})

test('over stdio to a server elsewhere, as the agent of the token', async () => {
  const dir = await testDir()
  const peer = await overStdio('v2', dir, ['--url', server.url, '--agent', 'bob'], {
    CSTP_TOKEN: tokens.bob.slice('bob:'.length),
  })
  try {
    const { decision_id: id } = await use(peer, 'pre_action', { description: 'Pass it on', confidence: 0.9 })
    expect(await server.call('getDecision', { id })).toMatchObject({ recorded_by: 'bob' })
    const refused = await peer.callTool({ name: 'get_decision', arguments: { id: '00000000' } })
    expect(jsonOf(refused)).toMatchObject({ error: 'validation_error', code: -32007 })
  } finally {
    await peer.close()
  }
})

describe('the list', () => {
  let tools: Awaited<ReturnType<Peer['listTools']>>['tools']
  beforeAll(async () => {
    const peer = await overHttp('v1', server.url, tokens.ada)
    tools = (await peer.listTools()).tools
    await peer.close()
  })

  test('has every tool in its order, and no tool of evidence or of administration', () => {
    expect(tools.map(({ name }) => name)).toEqual([...toolNames])
    const declared = [...methods].flatMap(([name, { mcp }]) => (mcp ? [name] : []))
    expect(declared).toHaveLength(toolNames.length)
    for (const name of declared) expect(name).not.toMatch(/[Ee]vidence|Controls|debugTracker|reset|reindex|compact/)
    for (const name of declared) expect(['read', 'write']).toContain(methods.get(name)!.scope)
  })

  test('says what each does in a few words, and what it changes', () => {
    for (const { name, title, description, annotations } of tools) {
      expect(title, name).toBeString()
      expect(description!.length, name).toBeWithin(40, 400)
      const { mcp, effect } = [...methods.values()].find((method) => method.mcp?.name === name)!
      expect(annotations, name).toEqual({
        title: title!,
        readOnlyHint: effect === 'read',
        destructiveHint: mcp?.destructive === true,
        idempotentHint: effect === 'read' || mcp?.idempotent === true,
        openWorldHint: false,
      })
    }
    expect(tools.filter(({ annotations }) => annotations?.destructiveHint).map(({ name }) => name)).toEqual([
      'unlink_decisions',
      'update_decision',
    ])
  })

  test('has schemas that are valid, closed, and describe each field of an input', () => {
    const visit = (schema: Record<string, unknown>, at: string) => {
      for (const [name, field] of Object.entries(
        (schema.properties ?? {}) as Record<string, Record<string, unknown>>,
      )) {
        expect(field.description, `${at}.${name}`).toBeString()
        visit(field, `${at}.${name}`)
      }
    }
    for (const { name, inputSchema, outputSchema } of tools) {
      for (const schema of [inputSchema, outputSchema!]) {
        expect(schema.type, name).toBe('object')
        expect(schema.$schema, name).toBeUndefined()
        expect(() => validator.getValidator(schema as never), name).not.toThrow()
      }
      expect(inputSchema.additionalProperties, name).toBe(false)
      visit(inputSchema, name)
    }
  })

  test('is short, since a model reads all of it in every session', () => {
    for (const ranks of [o200k, cl100k])
      expect(new Tiktoken(ranks).encode(JSON.stringify({ tools })).length).toBeLessThan(6_000)
  })

  test('declares fields of results that always have a value', () => {
    const fields = (tool: string) => tools.find(({ name }) => name === tool)!.outputSchema!.required as string[]
    expect(fields('pre_action')).toContain('allowed')
    // Null if it was blocked.
    expect(fields('pre_action')).not.toContain('decision_id')
    expect(fields('log_decision')).toContain('decision_id')
  })

  test('has the fields, defaults and bounds of the interface', () => {
    const input = (tool: string) =>
      tools.find(({ name }) => name === tool)!.inputSchema as {
        properties: Record<string, Record<string, unknown>>
        required: string[]
      }
    const keys = (tool: string) =>
      Object.keys(input(tool).properties).filter((name) => !['agent_id', 'tracker_scope'].includes(name))
    expect(keys('query_decisions')).toEqual(['query', 'limit', 'retrieval_mode', 'filters', 'as_of'])
    const { limit, retrieval_mode, filters } = input('query_decisions').properties
    expect(limit).toMatchObject({ type: 'integer', minimum: 1, maximum: 50, default: 5 })
    expect(retrieval_mode).toMatchObject({ default: 'hybrid' })
    expect(Object.keys(filters!.properties as object)).toEqual(['category', 'stakes', 'project', 'has_outcome'])
    expect(keys('check_action')).toEqual(
      'description category stakes confidence context tags project pr scope'.split(' '),
    )
    expect(input('check_action').properties.stakes).toMatchObject({ default: 'medium' })
    expect([...keys('log_decision'), 'agent_id']).toEqual(
      'decision confidence category stakes context action_context scope reasons tags pattern project feature pr decision_id agent_id'.split(
        ' ',
      ),
    )
    expect(input('log_decision').properties.project).toMatchObject({ type: 'string' })
    expect(keys('review_outcome')).toEqual(['id', 'outcome', 'actual_result', 'lessons', 'notes'])
    expect(keys('get_stats')).toEqual(['category', 'project', 'window', 'as_of'])
    expect(input('get_stats').properties.window).toMatchObject({ enum: ['30d', '60d', '90d', 'all'], default: 'all' })
    expect(keys('link_decisions')).toEqual(['source_id', 'target_id', 'edge_type', 'weight', 'context'])
    expect(input('link_decisions').properties.weight).toMatchObject({ minimum: 0, maximum: 1, default: 1 })
    expect(input('get_graph').properties.depth).toMatchObject({ default: 1 })
    expect(keys('pre_action')).toEqual(
      'description category stakes confidence context reasons tags pattern project pr scope auto_record query_limit idempotency_key'.split(
        ' ',
      ),
    )
    expect(input('pre_action').properties.auto_record).toMatchObject({ default: true })
    expect(input('get_session_context').properties.format).toMatchObject({ default: 'markdown' })
  })
})
