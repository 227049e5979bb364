/**
 * Replaces `claude mcp add` where guides are run: takes the same arguments, connects as they say with a real client, and lists the tools.
 *
 *     claude mcp add <name> -- <command> [args]
 *     claude mcp add --transport http <name> <url> [--header <header>]
 */
import { parseArgs } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const given = process.argv.slice(2)
const split = given.indexOf('--')
const [own, program] = split < 0 ? [given, []] : [given.slice(0, split), given.slice(split + 1)]
const { values, positionals } = parseArgs({
  args: own,
  options: { transport: { type: 'string' }, header: { type: 'string', multiple: true } },
  allowPositionals: true,
})
const [mcp, add, name, url] = positionals
if (mcp !== 'mcp' || add !== 'add' || !name) throw new Error(`not a command of claude: ${given.join(' ')}`)

function transport() {
  if (values.transport === 'http') {
    const headers = (values.header ?? []).map((line) => line.split(/:\s*(.*)/s).slice(0, 2) as [string, string])
    return new StreamableHTTPClientTransport(new URL(url!), { requestInit: { headers } })
  }
  const [command, ...args] = program
  return new StdioClientTransport({ command: command!, args, env: process.env as Record<string, string> })
}

const client = new Client({ name: 'claude', version: '1.0.0' })
await client.connect(transport())
const { tools } = await client.listTools()
await client.close()
console.log(`${name}: ${tools.map((tool) => tool.name).join(' ')}`)
