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

test('files for a repository and the gateway exclude each other', async () => {
  const { status, err } = await cstp(['init', '--gateway', '--shared'], bareEnv('/tmp/none'))
  expect([status, err]).toEqual([2, expect.stringContaining('--gateway writes absolute paths')])
})
