/** cstp init --gateway: the MCP servers of the clients are started through the gateway, and --undo gives them back. */
import { expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { bareEnv, cstp, inTemporaryDir } from '../support/process.ts'
import { textsOf, toolServer } from '../surfaces/gateway/gateway.ts'

const clients = ['--client', 'claude-code,cursor,opencode', '--skip-proof']

async function filled(dir: string, files: Record<string, unknown>): Promise<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(files)) {
    const path = join(dir, name)
    await mkdir(dirname(path), { recursive: true })
    texts[path] = `${JSON.stringify(value, null, 3)}\n`
    await writeFile(path, texts[path]!)
  }
  return texts
}
const json = async (dir: string, name: string) => JSON.parse(await readFile(join(dir, name), 'utf8'))

test('a server is started through the gateway with its own command, environment and folder, and again by itself after --undo', () =>
  inTemporaryDir(async (dir) => {
    const project = join(dir, 'project')
    const behind = join(dir, 'behind')
    await mkdir(behind)
    const command = [process.execPath, toolServer, behind]
    const [first, ...args] = command
    const before = await filled(project, {
      '.mcp.json': {
        mcpServers: { tools: { command: first, args, env: { A: '1' }, cwd: '/srv' }, far: { url: 'https://x' } },
      },
      '.cursor/mcp.json': { mcpServers: { 'my tools': { command: first, args } } },
      'opencode.json': { mcp: { tools: { type: 'local', command } } },
    })
    const env = { ...bareEnv(join(dir, 'data')), CSTP_EMBEDDER: 'hash' }
    const run = (...flags: string[]) => cstp(['init', '--dir', project, ...clients, ...flags], env)
    expect((await run('--gateway')).status).toBe(0)
    const { mcpServers } = await json(project, '.mcp.json')
    expect(mcpServers.far).toEqual({ url: 'https://x' })
    expect(mcpServers.tools).toMatchObject({ env: { A: '1' }, cwd: '/srv' })
    expect(mcpServers.tools.args.slice(-command.length - 1)).toEqual(['--', ...command])
    expect((await json(project, '.cursor/mcp.json')).mcpServers['my tools'].args).toContain('my-tools')
    expect((await json(project, 'opencode.json')).mcp.tools.command.slice(-command.length)).toEqual(command)
    // A second run leaves one gateway in front of each server, not two.
    const once = await readFile(join(project, '.mcp.json'), 'utf8')
    await run('--gateway')
    expect(await readFile(join(project, '.mcp.json'), 'utf8')).toBe(once)

    const client = new Client({ name: 'test', version: '1' })
    const { command: program, args: words } = mcpServers.tools
    await client.connect(new StdioClientTransport({ command: program, args: words, env: { ...env, HOME: dir } }))
    expect(textsOf(await client.callTool({ name: 'echo', arguments: { text: 'through' } }))).toBe('through')
    await client.close()

    expect((await run('--undo')).status).toBe(0)
    for (const [path, text] of Object.entries(before)) expect(await readFile(path, 'utf8')).toBe(text)
  }))

test('settings that changed since keep what was added, and lose the gateway', () =>
  inTemporaryDir(async (dir) => {
    const project = join(dir, 'project')
    await filled(project, { '.cursor/mcp.json': { mcpServers: { tools: { command: 'x', args: ['y'] } } } })
    const env = bareEnv(join(dir, 'data'))
    const run = (...flags: string[]) =>
      cstp(['init', '--dir', project, '--client', 'cursor', '--skip-proof', ...flags], env)
    await run('--gateway')
    const changed = await json(project, '.cursor/mcp.json')
    changed.mcpServers.more = { command: 'z' }
    await writeFile(join(project, '.cursor/mcp.json'), JSON.stringify(changed))
    await run('--undo')
    expect(await json(project, '.cursor/mcp.json')).toEqual({
      mcpServers: { tools: { command: 'x', args: ['y'] }, more: { command: 'z' } },
    })
  }))

const codexSettings = (folder: string) => `# My servers, in my order.
model = "gpt-5"

[mcp_servers.tools] # the ones of the team
  args = [
    '${toolServer}', # from the checkout
    "${folder}",
  ]
command = "${process.execPath}"   # no arguments in here
startup_timeout_sec = 20
[mcp_servers.tools.env]
A = "1 # 2"

[mcp_servers."far away"]
url = "https://mcp.example"

[mcp_servers.'bare one']
command = "x"
[tui]
notifications = true
`

test("Codex's servers are started through the gateway, its comments stay, and --undo gives the file back byte for byte", () =>
  inTemporaryDir(async (dir) => {
    const [project, behind] = [join(dir, 'project'), join(dir, 'behind')]
    await mkdir(behind)
    const path = join(project, '.codex', 'config.toml')
    await mkdir(dirname(path), { recursive: true })
    const before = codexSettings(behind)
    await writeFile(path, before)
    const env = { ...bareEnv(join(dir, 'data')), CSTP_EMBEDDER: 'hash' }
    const run = (...flags: string[]) =>
      cstp(['init', '--dir', project, '--client', 'codex', '--skip-proof', ...flags], env)
    expect(await run('--gateway')).toMatchObject({ status: 0, err: '' })
    const text = await readFile(path, 'utf8')
    const { mcp_servers: servers, ...rest } = Bun.TOML.parse(text) as Record<string, Record<string, never>>
    const { tools, 'far away': far, 'bare one': bare } = servers as unknown as Record<string, Record<string, string[]>>
    expect(rest).toEqual({
      features: { unified_exec_tty: false },
      model: 'gpt-5',
      tui: { notifications: true },
    } as never)
    expect(far).toEqual({ url: 'https://mcp.example' } as never)
    expect(tools).toMatchObject({ startup_timeout_sec: 20, env: { A: '1 # 2' } } as never)
    expect(tools!.args!.slice(-4)).toEqual(['--', process.execPath, toolServer, behind])
    expect(bare!.args!.slice(-6)).toEqual(['--name', 'bare-one', '--data-dir', join(dir, 'data'), '--', 'x'])
    for (const comment of ['# My servers, in my order.', '# the ones of the team', '# no arguments in here'])
      expect(text).toContain(comment)
    await run('--gateway')
    expect(await readFile(path, 'utf8')).toBe(text)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: String(tools!.command),
        args: tools!.args!,
        env: { ...env, HOME: dir },
      }),
    )
    expect(textsOf(await client.callTool({ name: 'echo', arguments: { text: 'through' } }))).toBe('through')
    await client.close()
    expect((await run('--undo')).status).toBe(0)
    expect(await readFile(path, 'utf8')).toBe(before)
    // With a line that was added since, the servers lose the gateway and the line stays.
    await run('--gateway')
    await writeFile(path, `${await readFile(path, 'utf8')}[more]\na = 1\n`)
    expect((await run('--undo')).status).toBe(0)
    const { more, mcp_servers: own } = Bun.TOML.parse(await readFile(path, 'utf8')) as Record<string, unknown>
    expect(more).toEqual({ a: 1 })
    const wanted = Bun.TOML.parse(before) as Record<string, Record<string, object>>
    const args: string[] = []
    expect(own).toEqual({ ...wanted.mcp_servers, 'bare one': { command: 'x', args } })
  }))

test("a server of Codex's that is no table of its own is named, and nothing is written", () =>
  inTemporaryDir(async (dir) => {
    const path = join(dir, '.codex', 'config.toml')
    await mkdir(dirname(path), { recursive: true })
    const before = 'mcp_servers.tools = { command = "x" }\n'
    await writeFile(path, before)
    const line = ['init', '--dir', dir, '--client', 'codex', '--skip-proof', '--gateway']
    const { status, err } = await cstp(line, bareEnv(join(dir, 'data')))
    expect([status, err]).toEqual([1, expect.stringContaining('its server tools has no table [mcp_servers.tools]')])
    expect(await readFile(path, 'utf8')).toBe(before)
  }))

test('a service on another machine and the gateway exclude each other: it says what to do', async () => {
  const line = ['init', '--gateway', '--client', 'cursor', '--url', 'https://cstp.example']
  const { status, err } = await cstp(line, bareEnv('/tmp/none'))
  expect([status, err]).toEqual([
    2,
    expect.stringContaining('connect the clients to https://cstp.example/gateway/<name>'),
  ])
})

test('files for a repository and the gateway exclude each other', async () => {
  const { status, err } = await cstp(['init', '--gateway', '--shared'], bareEnv('/tmp/none'))
  expect([status, err]).toEqual([2, expect.stringContaining('--gateway writes absolute paths')])
})
