/** `cstp gateway -- <command>`: the program between a client and a server that the client starts itself. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { bareEnv, cstp, inTemporaryDir } from '../../support/process.ts'
import { textsOf, toolServer } from './gateway.ts'

const main = resolve(import.meta.dir, '../../../src/main.ts')

const rules = `
- id: no-production
  conditions:
    - { type: field, field: context.tool, operator: "==", value: deploy }
    - { type: field, field: context.input.to, operator: "==", value: production }
  action: block
  message: This deploys to production
`

interface Started {
  client: Client
  pid: number
  folder: string
  calls(): string[]
}

/** @param command the server; by default that of the tests */
async function start(dir: string, command?: string[], env: Record<string, string> = {}): Promise<Started> {
  const folder = join(dir, 'server')
  const guardrails = join(dir, 'guardrails')
  await mkdir(folder, { recursive: true })
  await mkdir(guardrails, { recursive: true })
  await writeFile(join(guardrails, 'rules.yaml'), rules)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'gateway', '--name', 'tools', '--', ...(command ?? [process.execPath, toolServer, folder])],
    env: {
      CSTP_DATA_DIR: join(dir, 'data'),
      CSTP_EMBEDDER: 'hash',
      CSTP_PACKS: 'none',
      GUARDRAILS_PATHS: guardrails,
      ...env,
    },
    stderr: 'inherit',
  })
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { roots: {}, sampling: {}, elicitation: { form: {} } } },
  )
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: `file://${dir}`, name: 'root' }] }))
  client.setRequestHandler('sampling/createMessage', () => ({
    model: 'test',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled' },
  }))
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept' as const, content: {} }))
  await client.connect(transport)
  return {
    client,
    pid: transport.pid!,
    folder,
    calls: () =>
      existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') : [],
  }
}

test('a client uses a server through the gateway, and can do nothing that a rule stops', () =>
  inTemporaryDir(async (dir) => {
    const { client, calls } = await start(dir)
    try {
      expect(textsOf(await client.callTool({ name: 'deploy', arguments: { to: 'staging' } }))).toBe('deploy')
      const refused = await client.callTool({ name: 'deploy', arguments: { to: 'production' } })
      expect(textsOf(refused)).toContain('no-production: This deploys to production')
      expect(calls()).toHaveLength(1)
    } finally {
      await client.close()
    }
  }))

test('a gateway that is killed leaves no call made twice, and each made call recorded as judged', () =>
  inTemporaryDir(async (dir) => {
    const { client, pid, calls } = await start(dir)
    await client.callTool({ name: 'echo', arguments: { text: 'once' } })
    const running = client.callTool({ name: 'slow', arguments: { ms: 5_000 } }).catch(() => 'lost')
    while (calls().length === 1) await Bun.sleep(20)
    process.kill(pid, 'SIGKILL')
    expect(await running).toBe('lost')
    await client.close()
    expect(calls()).toHaveLength(2)
    const { out } = await cstp(['call', 'listSessions', '--local'], bareEnv(join(dir, 'data'), { CSTP_PACKS: 'none' }))
    const [{ actions, verdicts }] = JSON.parse(out).sessions
    expect(verdicts.allow).toBe(2)
    // The end of the call that was answered may be unknown too, never that of the other known.
    expect(actions).toBeLessThanOrEqual(1)
    const again = await start(dir)
    try {
      const shown = Bun.spawnSync([process.execPath, main, 'audit', '--local', '--json'], {
        env: bareEnv(join(dir, 'data'), { CSTP_PACKS: 'none' }),
      })
      expect(shown.stdout.toString()).toContain('gateway tools')
      expect(textsOf(await again.client.callTool({ name: 'echo', arguments: { text: 'on' } }))).toBe('on')
      expect(calls()).toHaveLength(3)
    } finally {
      await again.client.close()
    }
  }))

test('a server that does not exist is an error of the command, with its name', () =>
  inTemporaryDir(async (dir) => {
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, main, 'gateway', '--', '/no/such/server'], {
      env: bareEnv(join(dir, 'data')),
      stdin: 'ignore',
    })
    expect(exitCode).toBe(1)
    expect(stderr.toString()).toContain("the server server can't be started")
  }))

test('a server that ends at once is an error for its client', () =>
  inTemporaryDir(async (dir) => {
    await expect(start(dir, ['sh', '-c', 'exit 3'])).rejects.toThrow('The server tools ended before it answered')
  }))

test('the command of a server without -- in front is an error that says so', () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, main, 'gateway', 'npx', '-y', 'some-server'])
  expect([exitCode, stderr.toString()]).toEqual([2, expect.stringContaining('command come after --')])
})

test('with the address of a service on another machine it says what to do, and starts nothing', () =>
  inTemporaryDir(async (dir) => {
    const { exitCode, stderr } = Bun.spawnSync(
      [process.execPath, main, 'gateway', '--', 'touch', join(dir, 'started')],
      {
        env: bareEnv(join(dir, 'data'), { CSTP_URL: 'https://cstp.example' }),
        stdin: 'ignore',
      },
    )
    expect(exitCode).toBe(2)
    expect(stderr.toString()).toContain('connect the client to https://cstp.example/gateway/')
    expect(existsSync(join(dir, 'started'))).toBe(false)
  }))

const servers = process.env.CSTP_MCP_SERVERS
const serverPath = (name: string) => join(servers!, '@modelcontextprotocol', name, 'dist/index.js')
const reason = servers ? '' : ' (skipped: CSTP_MCP_SERVERS names no folder with the reference servers)'

test.skipIf(!servers)(`each feature of server-everything works through the gateway${reason}`, () =>
  inTemporaryDir(async (dir) => {
    const { client } = await start(dir, ['node', serverPath('server-everything')])
    try {
      const { tools } = await client.listTools()
      expect(tools.length).toBeGreaterThan(10)
      const results = new Map<string, string>()
      const inputs: Record<string, Record<string, unknown>> = {
        echo: { message: 'hello' },
        'get-sum': { a: 1, b: 2 },
        'trigger-long-running-operation': { duration: 0.1, steps: 2 },
        'trigger-sampling-request': { prompt: 'x', maxTokens: 5 },
        'get-structured-content': { location: 'Chicago' },
        'get-annotated-message': { messageType: 'success', includeImage: true },
        'get-resource-links': { count: 2 },
        'get-resource-reference': { resourceType: 'Text', resourceId: 1 },
      }
      const progress: number[] = []
      for (const { name } of tools.filter(({ name: one }) => !/toggle|simulate|gzip/.test(one))) {
        const result = await client.callTool(
          { name, arguments: inputs[name] ?? {} },
          { onprogress: (seen) => void progress.push(seen.progress) },
        )
        expect([name, result.isError ?? false]).toEqual([name, false])
        results.set(name, textsOf(result))
      }
      expect(results.get('echo')).toBe('Echo: hello')
      expect(results.get('trigger-sampling-request')).toContain('sampled')
      expect(results.get('get-roots-list')).toContain(`file://${dir}`)
      expect(progress.length).toBeGreaterThan(0)
      const { resources } = await client.listResources()
      const { contents } = await client.readResource({ uri: resources[0]!.uri })
      expect(contents).toHaveLength(1)
      const { prompts } = await client.listPrompts()
      expect(prompts.map(({ name }) => name)).toContain('simple-prompt')
      expect((await client.getPrompt({ name: 'simple-prompt' })).messages).toHaveLength(1)
      const { completion } = await client.complete({
        ref: { type: 'ref/prompt', name: 'completable-prompt' },
        argument: { name: 'department', value: 'E' },
      })
      expect(completion.values).toContain('Engineering')
      await client.setLoggingLevel('debug')
    } finally {
      await client.close()
    }
  }),
)

test.skipIf(!servers)(`server-filesystem and server-memory work through the gateway${reason}`, () =>
  inTemporaryDir(async (dir) => {
    const folder = join(dir, 'files')
    await mkdir(folder)
    const files = await start(dir, ['node', serverPath('server-filesystem'), folder])
    try {
      const path = join(folder, 'a.txt')
      await files.client.callTool({ name: 'write_file', arguments: { path, content: 'written' } })
      expect(readFileSync(path, 'utf8')).toBe('written')
      expect(textsOf(await files.client.callTool({ name: 'read_text_file', arguments: { path } }))).toContain('written')
    } finally {
      await files.client.close()
    }
    const memory = await start(join(dir, 'second'), ['node', serverPath('server-memory')], {
      MEMORY_FILE_PATH: join(dir, 'memory.json'),
    })
    try {
      const entities = [{ name: 'cstp', entityType: 'service', observations: ['decides'] }]
      await memory.client.callTool({ name: 'create_entities', arguments: { entities } })
      expect(textsOf(await memory.client.callTool({ name: 'read_graph', arguments: {} }))).toContain('decides')
    } finally {
      await memory.client.close()
    }
  }),
)
