/**
 * Real clients with real servers of tools behind the gateway: what a client gets through it is what it gets without it, at the first try. Then
 * clients that disobey.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, describeClients, openAgent, type RealClient, whyNot } from '../support/agent-clients.ts'
import type { Wanted } from '../support/agent-models.ts'
import { bareEnv, cstp, cstpCommand, root, run } from '../support/process.ts'
import { tokens } from '../support/serving.ts'
import { openBehind, toolServer } from '../surfaces/gateway/gateway.ts'

setDefaultTimeout(240_000)

const servers = process.env.CSTP_MCP_SERVERS
const inspector = process.env.CSTP_INSPECTOR
const serverPath = (name: string) => join(servers!, '@modelcontextprotocol', `server-${name}`, 'dist/index.js')

// Claude Code asks its model before slow servers are there, unless this makes it wait.
const patient = { MCP_CONNECTION_NONBLOCKING: 'false', MCP_CONNECT_TIMEOUT_MS: '100000', MCP_TIMEOUT: '100000' }

type Commands = Record<string, string[]>
const settings = { CSTP_EMBEDDER: 'hash', CSTP_PACKS: 'none' }

/** The commands of the servers. @param folder of the one with files */
const direct = (folder: string): Commands => ({
  everything: ['node', serverPath('everything')],
  files: ['node', serverPath('filesystem'), folder],
  memory: ['node', serverPath('memory')],
})
const throughGateway = (commands: Commands, data: string): Commands =>
  Object.fromEntries(
    Object.entries(commands).map(([name, words]) => [
      name,
      [...cstpCommand, 'gateway', '--name', name, '--data-dir', data, '--', ...words],
    ]),
  )

const serversOf = (commands: Commands, env: object) =>
  Object.fromEntries(Object.entries(commands).map(([name, [command, ...args]]) => [name, { command, args, env }]))

/** What starts servers, as each client's settings name it; their options, if it is not read without. */
const configured: Partial<Record<RealClient, (agent: Agent, commands: Commands, env: object) => Promise<string[]>>> = {
  async codex({ home }, commands, env) {
    const path = join(home, '.codex/config.toml')
    const pairs = Object.entries(env).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    const tables = Object.entries(commands).map(
      ([name, [command, ...args]]) =>
        `[mcp_servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nenv = { ${pairs.join(', ')} }\n`,
    )
    // It asks its model after a second, with the tools that are there by then.
    const grace = 'mcp_optional_startup_grace_ms = 60000\n'
    const own = (await readFile(path, 'utf8')).replace(grace, '').replace(/\[mcp_servers[\s\S]*$/, '')
    await writeFile(path, `${grace}${own}${tables.join('\n')}`)
    return []
  },
  async gemini({ home }, commands, env) {
    const path = join(home, '.gemini/settings.json')
    const own = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(path, JSON.stringify({ ...own, mcpServers: serversOf(commands, env) }))
    return []
  },
  async 'claude-code'({ project }, commands, env) {
    await writeFile(join(project, '.mcp.json'), JSON.stringify({ mcpServers: serversOf(commands, env) }))
    return ['--mcp-config', '.mcp.json', '--strict-mcp-config']
  },
}

/** A call of each tool that the client is shown. */
const calls = (folder: string): Wanted[] => [
  { name: 'echo', input: { message: 'hello' } },
  { name: 'get-sum', input: { a: 19, b: 23 } },
  { name: 'get-tiny-image', input: {} },
  { name: 'get-roots-list', input: {} },
  { name: 'get-annotated-message', input: { messageType: 'error', includeImage: true } },
  { name: 'get-structured-content', input: { location: 'Chicago' } },
  { name: 'get-resource-links', input: { count: 3 } },
  { name: 'get-resource-reference', input: { resourceType: 'Text', resourceId: 1 } },
  { name: 'gzip-file-as-resource', input: { name: 'a.txt', data: 'data:text/plain,hello', outputType: 'resource' } },
  { name: 'trigger-long-running-operation', input: { duration: 0.2, steps: 2 } },
  { name: 'get-env', input: {} },
  { name: 'simulate-research-query', input: { topic: 'gateways' } },
  { name: 'toggle-simulated-logging', input: {} },
  { name: 'toggle-subscriber-updates', input: {} },
  { name: 'trigger-elicitation-request', input: {} },
  { name: 'write_file', input: { path: join(folder, 'a.txt'), content: 'written' } },
  { name: 'read_text_file', input: { path: join(folder, 'a.txt') } },
  { name: 'read_file', input: { path: join(folder, 'a.txt') } },
  { name: 'get_file_info', input: { path: join(folder, 'a.txt') } },
  { name: 'read_media_file', input: { path: join(folder, 'a.txt') } },
  { name: 'read_multiple_files', input: { paths: [join(folder, 'a.txt'), join(folder, 'none.txt')] } },
  { name: 'edit_file', input: { path: join(folder, 'a.txt'), edits: [{ oldText: 'written', newText: 'edited' }] } },
  { name: 'create_directory', input: { path: join(folder, 'b') } },
  { name: 'move_file', input: { source: join(folder, 'a.txt'), destination: join(folder, 'b/a.txt') } },
  { name: 'list_directory', input: { path: folder } },
  { name: 'list_directory_with_sizes', input: { path: folder } },
  { name: 'search_files', input: { path: folder, pattern: '**/*.txt' } },
  { name: 'list_allowed_directories', input: {} },
  { name: 'directory_tree', input: { path: folder } },
  {
    name: 'create_entities',
    input: { entities: [{ name: 'cstp', entityType: 'service', observations: ['decides'] }] },
  },
  { name: 'add_observations', input: { observations: [{ entityName: 'cstp', contents: ['remembers'] }] } },
  { name: 'create_relations', input: { relations: [{ from: 'cstp', to: 'cstp', relationType: 'judges' }] } },
  { name: 'read_graph', input: {} },
  { name: 'search_nodes', input: { query: 'cstp' } },
  { name: 'open_nodes', input: { names: ['cstp'] } },
  { name: 'delete_relations', input: { relations: [{ from: 'cstp', to: 'cstp', relationType: 'judges' }] } },
  { name: 'delete_observations', input: { deletions: [{ entityName: 'cstp', observations: ['decides'] }] } },
  { name: 'delete_entities', input: { entityNames: ['cstp'] } },
]
/** Tools that these clients are not shown, since they lack what the server needs for them. */
const notShown = ['trigger-sampling-request', 'trigger-elicitation-request-async']
/** A tool that its server lists only for clients with a capability that this one lacks. */
const lacks: Partial<Record<RealClient, string>> = { codex: 'get-roots-list', gemini: 'trigger-elicitation-request' }
const resources: Partial<Record<RealClient, Wanted[]>> = {
  codex: [
    { name: 'trigger-url-elicitation', input: { url: 'https://cstp.example', message: 'Look' } },
    { name: 'trigger-url-elicitation', input: { url: 'https://cstp.example', message: 'Look', errorPath: true } },
    { name: 'list_mcp_resources', input: { server: 'everything' } },
    { name: 'list_mcp_resource_templates', input: { server: 'everything' } },
    { name: 'read_mcp_resource', input: { server: 'everything', uri: 'demo://resource/static/document/features.md' } },
  ],
  'claude-code': [
    { name: 'ListMcpResourcesTool', input: { server: 'everything' } },
    {
      name: 'ReadMcpResourceTool',
      input: { server: 'everything', uri: 'demo://resource/static/document/features.md' },
    },
  ],
}

/** A result without what differs from one call to the next. */
const plain = (result: string): unknown =>
  JSON.parse(result, (key, value) => {
    if (key === 'cache_control') return undefined
    if (typeof value !== 'string') return value
    if (/(?:^|_)id$|^taskId$/.test(key)) return ''
    const same = value
      .replace(/Wall time: [\d.]+ seconds| saved to \S+|codex-arg0\w+/, '')
      .replace(/\d{1,2}:\d\d:\d\d(?: [AP]M)?/g, 'time')
      .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'uuid')
    // The environment has no order.
    return same.includes('"PATH":') ? same.split(/,?\n/).sort() : same
  })

const whyNotHere = (client: RealClient) =>
  whyNot(client, true) ?? (servers ? null : 'CSTP_MCP_SERVERS names no folder with the reference servers')

describeClients(['codex', 'gemini', 'claude-code'], whyNotHere, (client) => {
  let agent: Agent
  let folder: string
  beforeAll(async () => {
    agent = await openAgent(client)
    folder = await mkdtemp(join(tmpdir(), 'cstp-gateway-'))
  })
  afterAll(async () => {
    await agent.close()
    await rm(folder, { recursive: true, force: true })
  })
  const data = () => join(folder, 'data')
  const using = async (commands: Commands, env: object) => configured[client]!(agent, commands, { ...settings, ...env })

  test('each tool and resource returns through the gateway what it returns without it', async () => {
    // Below the folder that clients name as their root.
    const [files, memory] = [join(agent.project, 'files'), join(folder, 'memory.json')]
    const tools = [...calls(files).filter(({ name }) => name !== lacks[client]), ...(resources[client] ?? [])]
    // Gemini CLI replaces the history of a long turn by a summary, so the model asks for the same again without end.
    const most = client === 'gemini' ? 20 : tools.length
    const got: unknown[][] = []
    for (const commands of [direct(files), throughGateway(direct(files), data())]) {
      for (const path of [files, memory]) await rm(path, { recursive: true, force: true })
      await mkdir(files)
      const options = await using(commands, { MEMORY_FILE_PATH: memory })
      const all: unknown[] = []
      for (let at = 0; at < tools.length; at += most) {
        const wanted = tools.slice(at, at + most)
        const { results, output, saw } = await agent.turn(patient, { tools: wanted, options })
        expect([results.length, output]).toEqual([wanted.length, expect.anything()])
        const isShown = (name: string) => saw(`_${name}"`) || saw(`"${name.replaceAll('-', '_')}"`)
        expect([isShown('get-sum'), notShown.filter(isShown)]).toEqual([true, []])
        all.push(...results.map(plain))
      }
      got.push(all)
    }
    expect(got[1]).toEqual(got[0]!)
    const shown = JSON.stringify(got[1])
    for (const text of ['Echo: hello', '42', 'written', 'decides', 'image']) expect(shown).toContain(text)
  })

  if (client === 'claude-code')
    test('a prompt of a server is a command of the user', async () => {
      const { everything } = throughGateway(direct(folder), data())
      const options = await using({ everything: everything! }, {})
      const turn = await agent.turn(patient, { tools: [], prompt: '/mcp__everything__simple-prompt', options })
      expect([turn.saw('This is a simple prompt without arguments'), turn.output]).toEqual([true, 'done\n'])
    })

  test('a call that a person has to approve is made after the grant, once, and the model reads where to ask', async () => {
    const rules = join(folder, 'approvals.yaml')
    await writeFile(
      rules,
      JSON.stringify([
        {
          id: 'ask-first',
          action: 'step_up',
          message: 'A person decides',
          conditions: [{ type: 'field', field: 'context.tool', operator: '==', value: 'deploy' }],
        },
      ]),
    )
    const behind = join(folder, 'approved')
    await mkdir(behind)
    const env = { ...settings, GUARDRAILS_PATHS: rules }
    const options = await using(throughGateway({ asked: [process.execPath, toolServer, behind] }, data()), env)
    const calls = () =>
      existsSync(join(behind, 'calls')) ? readFileSync(join(behind, 'calls'), 'utf8').trim().split('\n') : []
    const given = bareEnv(data(), env)
    const approve = async () => {
      for (;;) {
        const { out } = await cstp(['approvals', '--local', '--json'], given)
        const [one] = (JSON.parse(out) as { approvals: { id: string }[] }).approvals
        if (one === undefined) continue
        expect(calls()).toEqual([])
        return cstp(['approvals', 'approve', one.id, '--local'], given)
      }
    }
    const approved = approve()
    // Codex gets the address at once, as it can show pages; Claude Code waits.
    const times = client === 'codex' ? 3 : 1
    const tools = Array.from({ length: times }, () => ({ name: 'deploy', input: { to: 'production' } }))
    const { results } = await agent.turn(
      { ...patient, ...env },
      { tools, options, meanwhile: async () => expect(await approved).toMatchObject({ status: 0 }) },
    )
    expect(results).toHaveLength(times)
    if (client === 'codex') {
      for (const asked of [results[0], results[2]]) {
        expect(asked).toContain('/dashboard/approvals/')
        expect(asked).toContain('approvals approve')
        expect(asked).toContain('try again once it is granted')
      }
    }
    expect(results[client === 'codex' ? 1 : 0]).toContain('deploy')
    expect(calls()).toHaveLength(1)
  })

  // Gemini CLI's hooks are those of its user's settings, which a repository does not change.
  test.each(client === 'gemini' ? [] : ['switched off', 'killed'])(
    'its hooks are %s, and its servers are called as it likes: what a rule denies is not made',
    async (how) => {
      const rules = join(folder, 'rules.yaml')
      const stops = (id: string, tool: string, field: string, value: string) => `
- id: ${id}
  action: block
  conditions:
    - { type: field, field: context.tool, operator: in, value: [${tool}] }
    - { type: field, field: ${field}, operator: contains, value: ${value} }
  message: Nobody does this
`
      await writeFile(rules, stops('no-production', 'deploy', 'context.input.to', 'production'))
      const behind = join(folder, 'behind')
      await rm(behind, { recursive: true, force: true })
      await mkdir(behind)
      const env = { ...settings, GUARDRAILS_PATHS: rules }
      const commands = throughGateway({ tools: [process.execPath, toolServer, behind] }, data())
      const connect = ['init', '--dir', agent.project, '--client', client, '--enforce', '--skip-proof']
      expect(await cstp(connect, bareEnv(data(), env))).toMatchObject({ status: 0 })
      // The repository gives its server our own name; the gateway in front of it is that of the machine.
      if (client === 'codex') await rm(join(agent.project, '.codex/config.toml'))
      const options = await using({ cstp: commands.tools! }, env)
      const settingsOf = (name: string) => join(agent.project, client === 'codex' ? '.codex' : '.claude', name)
      if (how === 'killed') {
        const hooks = settingsOf(client === 'codex' ? 'hooks.json' : 'settings.local.json')
        const told = JSON.parse(await readFile(hooks, 'utf8'), (key, value) =>
          key === 'command' ? 'kill -9 $$' : key === 'onFailure' ? undefined : value,
        )
        await writeFile(hooks, JSON.stringify(told))
      } else if (client === 'claude-code')
        await writeFile(settingsOf('settings.json'), JSON.stringify({ disableAllHooks: true }))
      const tools = [
        client === 'codex'
          ? { name: 'exec_command', input: { cmd: 'touch ran.txt' } }
          : { name: 'Bash', input: { command: 'touch ran.txt', description: 'Make a file' } },
        { name: 'deploy', input: { to: 'production' } },
        { name: 'deploy', input: { to: 'production' } },
        { name: 'deploy', input: { to: 'staging' } },
      ]
      // Codex runs no hook that is not trusted.
      const turn = await agent.turn({ ...patient, ...env }, { tools, options, trusted: how === 'killed' })
      // No service runs, so a hook would have stopped it.
      expect(turn.ran).toBe(true)
      expect(turn.results).toHaveLength(4)
      for (const denied of turn.results.slice(1, 3)) expect(denied).toContain('no-production: Nobody does this')
      const made = (await readFile(join(behind, 'calls'), 'utf8')).trim().split('\n')
      expect(made.map((line) => JSON.parse(line))).toEqual([{ name: 'deploy', input: { to: 'staging' } }])
    },
  )
})

/** What the inspector calls where `bun run soak` does not call all: it is started again for each. */
const few = ['write_file', 'create_entities']
const ofMemory = /_(?:entities|observations|relations|graph|nodes)$/
const missing = !inspector ? 'CSTP_INSPECTOR is not set' : !servers ? 'CSTP_MCP_SERVERS is not set' : ''

test.skipIf(missing !== '')(
  `the MCP inspector gets through the gateway what it gets without it ${missing}`,
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'cstp-inspector-'))
    const command = ['node', serverPath('everything')]
    const behind = await openBehind({ more: { everything: { command } } })
    const places = { direct: join(home, 'direct'), judged: join(home, 'judged') }
    const startedIn = (place: string): Commands => {
      const { memory, ...others } = direct(place)
      return { ...others, memory: ['env', `MEMORY_FILE_PATH=${join(place, 'memory.json')}`, ...memory!] }
    }
    for (const place of Object.values(places)) await mkdir(place)
    const judgedStart = throughGateway(startedIn(places.judged), join(home, 'data'))
    const inspect = async (target: string[], ...args: string[]) => {
      const line = [process.execPath, '--bun', inspector!, '--cli', ...target, '--method', ...args]
      const { out, err, status } = await run(line, { cwd: root, env: bareEnv(home, settings) })
      if (status !== 0) throw new Error(`${args}: ${err}${out}`)
      return plain(out)
    }
    const url = `${behind.serving.url}/gateway/everything`
    const through = [url, '--transport', 'http', '--header', `Authorization: Bearer ${tokens.ada}`]
    const document = 'demo://resource/static/document/features.md'
    try {
      for (const args of [
        ['tools/list'],
        ['tools/call', '--tool-name', 'get-structured-content', '--tool-arg', 'location=Chicago'],
        ['resources/read', '--uri', document],
        ['prompts/get', '--prompt-name', 'args-prompt', '--prompt-args', 'city=Chicago'],
      ] as const) {
        const [direct, judged] = await Promise.all([inspect(command, ...args), inspect(through, ...args)])
        expect([args[0], judged]).toEqual([args[0], direct])
      }
      const called = (started: Commands, place: string, number: number) => {
        const { name, input } = calls(place)[number]!
        const given = Object.entries(input).flatMap(([key, value]) => [
          '--tool-arg',
          `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
        ])
        const server = !name.includes('_') ? 'everything' : ofMemory.test(name) ? 'memory' : 'files'
        return inspect(started[server]!, 'tools/call', '--tool-name', name, ...given).then(
          (result) => JSON.stringify(result).replaceAll(place, ''),
          () => 'failed',
        )
      }
      for (const [number, { name }] of calls('').entries()) {
        if (process.env.CSTP_SOAK !== '1' && !few.includes(name)) continue
        const [direct, judged] = await Promise.all([
          called(startedIn(places.direct), places.direct, number),
          called(judgedStart, places.judged, number),
        ])
        expect([name, judged]).toEqual([name, direct])
        if (few.includes(name)) expect(judged).not.toBe('failed')
      }
    } finally {
      await behind.close()
      await rm(home, { recursive: true, force: true })
    }
  },
  900_000,
)
