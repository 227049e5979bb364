/**
 * A server of tools for tests of the gateway, on stdin and stdout: `bun tool-server.ts <folder>`. What it does is in the folder: `calls` gets a
 * line for each call that it makes, `pid` has its process, and `tools.json`, if it exists, replaces members of its tools by their names. If there
 * is a file `pages`, it lists one tool a page; a file `version` has its version.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inputRequired, Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const folder = process.argv[2]!
writeFileSync(join(folder, 'pid'), String(process.pid))
const own: Record<string, { description: string; [member: string]: unknown }> = {
  echo: { description: 'Returns its text.' },
  deploy: { description: 'Deploys a version.', annotations: { destructiveHint: true } },
  run_tests: { description: 'Runs the tests.' },
  fail: { description: 'Fails.' },
  slow: { description: 'Takes its time, with progress.' },
  die: { description: 'Ends the server.' },
  big: { description: 'Returns many characters.' },
  ask: { description: 'Asks back.' },
  twice: { description: 'Answers twice.' },
}

const toolsNow = () => {
  const path = join(folder, 'tools.json')
  const changed = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as typeof own) : {}
  return Object.entries({ ...own, ...changed }).map(([name, more]) => ({
    name,
    inputSchema: { type: 'object' as const },
    ...own[name],
    ...more,
  }))
}

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

serveStdio(() => {
  const version = join(folder, 'version')
  const server = new Server(
    { name: 'tool-server', version: existsSync(version) ? readFileSync(version, 'utf8') : '1.0.0' },
    { capabilities: { tools: { listChanged: true }, logging: {} } },
  )
  server.setRequestHandler('tools/list', ({ params }) => {
    const tools = toolsNow()
    if (!existsSync(join(folder, 'pages'))) return { tools }
    const at = Number(params?.cursor ?? 0)
    return { tools: tools.slice(at, at + 1), ...(at + 1 < tools.length && { nextCursor: String(at + 1) }) }
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    appendFileSync(join(folder, 'calls'), `${JSON.stringify({ name, input })}\n`)
    switch (name) {
      case 'fail':
        return { ...text('it failed'), isError: true }
      case 'slow': {
        const { progressToken } = (mcpReq._meta ?? {}) as { progressToken?: string | number }
        for (let progress = 1; progress <= 3; progress++) {
          if (progressToken !== undefined)
            await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } })
          await Bun.sleep(Number(input.ms ?? 10))
        }
        return text('done')
      }
      case 'echo':
        if (input.announce) await mcpReq.notify({ method: 'notifications/tools/list_changed' })
        return {
          ...text(String(input.text ?? name)),
          ...(input.structured ? { structuredContent: input.structured as object } : {}),
        }
      case 'die':
        return process.exit(1)
      case 'big':
        return text('x'.repeat(Number(input.size)))
      case 'ask': {
        if (mcpReq.inputResponses !== undefined) return text('answered')
        const params = { message: 'Which one?', requestedSchema: { type: 'object' as const, properties: {} } }
        return inputRequired({ inputRequests: { which: inputRequired.elicit(params) }, requestState: 'state-1' })
      }
      case 'twice': {
        const line = JSON.stringify({ jsonrpc: '2.0', id: mcpReq.id, result: text('second') })
        setTimeout(() => process.stdout.write(`${line}\n`), 5)
        return text('first')
      }
      default:
        return text(String(input.text ?? name))
    }
  })
  return server
})
