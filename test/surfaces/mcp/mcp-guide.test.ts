/** The guide's set-up works unchanged: its JSON parses and starts what it names, and its figures are those of the program. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toolNames } from '../../../src/calls/method.ts'
import { bareEnv, inTemporaryDir, root, testDir } from '../../support/process.ts'
import { startServing, tokens } from '../../support/serving.ts'
import { overStdio, type Peer } from './peers.ts'

interface Entry {
  type?: string
  url?: string
  headers?: Record<string, string>
  command?: string
  args?: string[]
  env?: Record<string, string>
}

const guide = await readFile(join(root, 'docs/guide/mcp.md'), 'utf8')
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1]!)
const entries = blocks('json').map((text) => {
  const { mcpServers } = JSON.parse(text) as { mcpServers: { cstp: Entry } }
  return mcpServers.cstp
})
const [http, here, elsewhere, cloned] = entries

const listed = async (peer: Pick<Peer, 'listTools' | 'close'>): Promise<string[]> => {
  try {
    return (await peer.listTools()).tools.map(({ name }) => name)
  } finally {
    await peer.close()
  }
}

/** What follows `cstp mcp` in a configuration. */
const argsOf = ({ command, args = [] }: Entry): string[] => {
  expect([command, args[0]]).toEqual(['cstp', 'mcp'])
  return args.slice(1)
}

test('there are four configurations', () => expect(entries).toHaveLength(4))

test('the configuration for HTTP', async () => {
  const server = await startServing()
  try {
    expect(http!.type).toBe('http')
    const [agent, token] = tokens.bob.split(':') as [string, string]
    const headers = Object.fromEntries(
      Object.entries(http!.headers!).map(([name, value]) => [
        name,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the notation of the file
        value.replace('local:', `${agent}:`).replace('${CSTP_TOKEN}', token),
      ]),
    )
    const client = new Client({ name: 'test', version: '1' })
    const url = new URL(http!.url!.replace('http://127.0.0.1:9991', server.url))
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    expect(await listed(client as unknown as Peer)).toEqual([...toolNames])
  } finally {
    await server.stop()
  }
})

test('the configuration of a program', () =>
  inTemporaryDir(async (dir) =>
    expect(await listed(await overStdio('v2', dir, argsOf(here!)))).toEqual([...toolNames]),
  ))

test('the configuration of a program that passes on', async () => {
  const dir = await testDir()
  // The server need not be there for the tools to be listed.
  expect(elsewhere!.env).toEqual({ CSTP_TOKEN: '<token>' })
  expect(await listed(await overStdio('v2', dir, argsOf(elsewhere!), elsewhere!.env))).toEqual([...toolNames])
})

test('the commands name what there is', async () => {
  const [withServer, without] = blocks('sh')
  expect(withServer).toContain('--transport http cstp http://127.0.0.1:9991/mcp')
  await inTemporaryDir(async (dir) => {
    const [program, command, ...args] = without!.split(' -- ')[1]!.trim().split(' ')
    expect([program, command]).toEqual(['cstp', 'mcp'])
    expect(await listed(await overStdio('v1', dir, args))).toEqual([...toolNames])
  })
  expect(guide).toContain(`[${toolNames.length} tools]`)
})

test('the configuration for a clone starts it', async () => {
  const { command, args } = JSON.parse(JSON.stringify(cloned).replaceAll('/path/to/clone', root)) as Required<Entry>
  await inTemporaryDir(async (dir) => {
    // The stand-in that runs the guide's `claude mcp add`.
    const stand = [join(root, 'test/surfaces/mcp/claude.ts'), 'mcp', 'add', 'cstp', '--', command, ...args]
    const { stdout, stderr } = Bun.spawnSync([process.execPath, ...stand], {
      env: bareEnv(dir),
      cwd: dir,
      stdin: 'ignore',
    })
    expect(`${stdout}${stdout.length > 0 ? '' : stderr}`).toBe(`cstp: ${toolNames.join(' ')}\n`)
  })
})
