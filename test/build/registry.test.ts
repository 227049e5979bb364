/** What makes the service known to MCP clients: the registry's entry fits its schema, and the bundle's program reaches a running server. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { makeEntries } from '../../src/build/npm.ts'
import { serverJson } from '../../src/build/registry.ts'
import { toolNames } from '../../src/calls/method.ts'
import { type RunningServer, root, run, startServer } from '../support/process.ts'
import { lines, overProgram, use } from '../surfaces/mcp/peers.ts'

const text = { type: 'string' }
const input = { type: 'object', properties: { value: text, description: text, isRequired: { type: 'boolean' } } }
/** What schema 2025-12-11 of the registry asks of an entry with packages; its own words, without descriptions. */
const schema = {
  type: 'object',
  required: ['name', 'description', 'version'],
  properties: {
    name: { type: 'string', minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
    title: { type: 'string', minLength: 1, maxLength: 100 },
    description: { type: 'string', minLength: 1, maxLength: 100 },
    version: { type: 'string', maxLength: 255 },
    packages: {
      type: 'array',
      items: {
        type: 'object',
        required: ['registryType', 'identifier', 'transport'],
        properties: {
          registryBaseUrl: { type: 'string', pattern: '^https://' },
          version: { type: 'string', minLength: 1, not: { const: 'latest' } },
          transport: {
            type: 'object',
            required: ['type'],
            properties: { type: { enum: ['stdio', 'streamable-http', 'sse'] } },
          },
          packageArguments: {
            type: 'array',
            items: {
              anyOf: [
                {
                  ...input,
                  required: ['type'],
                  anyOf: [{ required: ['valueHint'] }, { required: ['value'] }],
                  properties: { ...input.properties, type: { enum: ['positional'] } },
                },
                {
                  ...input,
                  required: ['type', 'name'],
                  properties: { ...input.properties, type: { enum: ['named'] } },
                },
              ],
            },
          },
          environmentVariables: {
            type: 'array',
            items: {
              ...input,
              required: ['name'],
              properties: { name: text, format: { enum: ['string', 'number', 'boolean', 'filepath'] } },
            },
          },
        },
      },
    },
  },
}

test('the entry of the registry fits its schema, and entries that the registry refuses do not', () => {
  const fits = new Ajv({ strict: false }).compile(schema)
  const entry = serverJson('io.github.cstp/cstp')
  expect([fits(entry), fits.errors]).toEqual([true, null])
  const { name: _, ...nameless } = entry
  const [npm] = entry.packages
  const refused = [
    nameless,
    { ...entry, name: 'no-slash' },
    { ...entry, description: 'x'.repeat(101) },
    { ...entry, packages: [{ ...npm, version: 'latest' }] },
    { ...entry, packages: [{ ...npm, packageArguments: [{ type: 'positional' }] }] },
  ]
  expect(refused.map((one) => fits(one))).toEqual(refused.map(() => false))
})

describe('the bundle', () => {
  let dir: string
  let server: RunningServer
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cstp-bundle-'))
    server = await startServer({
      dir: join(dir, 'data'),
      env: { CSTP_AUTH_TOKENS: 'ada:a-token-of-sixteen-characters' },
    })
  })
  afterAll(async () => {
    await server.kill()
    await rm(dir, { recursive: true, force: true })
  })
  const started = (url: string, token: string) => ({
    command: 'node',
    args: [join(dir, 'unpacked/server.mjs')],
    env: { PATH: process.env.PATH ?? '', CSTP_URL: url, CSTP_TOKEN: token },
    cwd: dir,
  })

  test('is one that the tools of its format validate and unpack', async () => {
    const [, bundle] = makeEntries(dir, 'io.github.cstp/cstp')
    const mcpb = async (...args: string[]) =>
      run([process.execPath, join(root, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js'), ...args], {
        cwd: dir,
        env: { PATH: process.env.PATH ?? '', HOME: dir },
      })
    expect(await mcpb('validate', join(dir, 'mcpb/manifest.json'))).toMatchObject({ status: 0 })
    expect(await mcpb('unpack', bundle!, join(dir, 'unpacked'))).toMatchObject({ status: 0 })
    const { tools } = JSON.parse(await readFile(join(dir, 'unpacked/manifest.json'), 'utf8'))
    expect(tools.map(({ name }: { name: string }) => name).sort()).toEqual([...toolNames].sort())
  })

  for (const line of lines)
    test(`passes on what a client of ${line} says`, async () => {
      const peer = await overProgram(line, started(server.url, 'ada:a-token-of-sixteen-characters'))
      expect((await peer.listTools()).tools.map(({ name }) => name)).toEqual([...toolNames])
      const decision = { decision: `Pass on ${line}`, category: 'tooling', confidence: 0.7 }
      const { decision_id: id } = await use(peer, 'log_decision', decision)
      await peer.close()
      expect(await server.call('getDecision', { id })).toMatchObject({
        decision: decision.decision,
        recorded_by: 'ada',
      })
    })

  test('says why nothing answers', async () => {
    const ask = async (url: string, token: string) => {
      const { command, args, env, cwd } = started(url, token)
      const ping = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`
      return JSON.parse((await run([command, ...args], { cwd, env, input: `${ping}` })).out)
    }
    expect(await ask(server.url, 'ada:wrong')).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('does not know this token') },
    })
    expect(await ask('http://127.0.0.1:9', 'ada:x')).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('Is it running?') },
    })
  })
})
