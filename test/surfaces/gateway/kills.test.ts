/** A client, the gateway or a server is killed at any point: no call is made twice, and each made call was recorded as judged. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bareEnv, cstp, fromSource, inTemporaryDir, root, until } from '../../support/process.ts'
import { tokens } from '../../support/serving.ts'
import { openBehind, textsOf, toolServer } from './gateway.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A program that connects as a client, calls `slow` without end, and prints the process that it started. */
async function clientIn(dir: string, transport: string): Promise<string> {
  const path = join(dir, 'client.ts')
  const from = (name: string) => JSON.stringify(Bun.resolveSync(name, root))
  await writeFile(
    path,
    `import { Client, StreamableHTTPClientTransport } from ${from('@modelcontextprotocol/client')}
import { StdioClientTransport } from ${from('@modelcontextprotocol/client/stdio')}
const client = new Client({ name: 'test', version: '1' })
const transport = ${transport}
await client.connect(transport)
console.log(transport.pid ?? 0)
for (let n = 0; ; n++) await client.callTool({ name: 'slow', arguments: { n, ms: 30 } })
`,
  )
  return path
}

const numbers = (folder: string): number[] => {
  const path = join(folder, 'calls')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  return lines.map((line) => JSON.parse(line).input.n as number)
}

test('a client of a started gateway is killed: gateway and server end, and each made call was judged', () =>
  inTemporaryDir(async (dir) => {
    const behind = join(dir, 'behind')
    await mkdir(behind)
    const env = bareEnv(join(dir, 'data'), { CSTP_PACKS: 'none' })
    const line = [...fromSource, 'gateway', '--name', 'tools', '--', process.execPath, toolServer, behind]
    const given = { command: line[0], args: line.slice(1), env, stderr: 'ignore' }
    const client = Bun.spawn(
      [process.execPath, await clientIn(dir, `new StdioClientTransport(${JSON.stringify(given)})`)],
      {
        stdout: 'pipe',
      },
    )
    const { value } = await client.stdout.getReader().read()
    const gateway = Number(new TextDecoder().decode(value))
    await until('three calls', async () => numbers(behind).length >= 3)
    const server = Number(readFileSync(join(behind, 'pid'), 'utf8'))
    client.kill('SIGKILL')
    await until('gateway and server end', async () => !isAlive(gateway) && !isAlive(server))
    const made = numbers(behind)
    expect(new Set(made).size).toBe(made.length)
    const { out } = await cstp(['call', 'listSessions', '--local'], env)
    const [session] = JSON.parse(out).sessions
    expect(session.verdicts.allow).toBeGreaterThanOrEqual(made.length)
    expect(session.verdicts.allow).toBeLessThanOrEqual(made.length + 1)
    expect(session.actions).toBeGreaterThanOrEqual(made.length - 1)
  }))

test('a client over HTTP is killed: its calls are recorded with their ends', () =>
  inTemporaryDir(async (dir) => {
    const one = await openBehind()
    try {
      const options = { requestInit: { headers: { authorization: `Bearer ${tokens.ada}` } } }
      const transport = `new StreamableHTTPClientTransport(new URL('${one.serving.url}/gateway/tools'), ${JSON.stringify(options)})`
      const client = Bun.spawn([process.execPath, await clientIn(dir, transport)], { stdout: 'ignore' })
      await until('three calls', async () => numbers(one.folder).length >= 3)
      client.kill('SIGKILL')
      await client.exited
      const session = async () => {
        const { sessions } = await one.serving.call('listSessions', {}, 'root')
        return (sessions as { actions: number; verdicts: { allow: number } }[])[0]!
      }
      await until('the last call ends', async () => (await session()).actions === numbers(one.folder).length)
      const made = numbers(one.folder)
      expect(made).toEqual(made.map((_, at) => at))
      expect((await session()).verdicts.allow).toBe(made.length)
    } finally {
      await one.close()
    }
  }))

test('a server is killed at any point: each call is made once at most, and the model reads which are unknown', async () => {
  const one = await openBehind({ limits: { calls_per_minute: 0, same_failures: 0 } })
  try {
    const client = await one.connect()
    const results: string[] = []
    for (let n = 0; n < 12; n++) {
      const call = client.callTool({ name: 'slow', arguments: { n, ms: 15 } })
      await Bun.sleep(n * 8)
      const pid = Number(readFileSync(join(one.folder, 'pid'), 'utf8'))
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      results.push(textsOf(await call))
    }
    const made = numbers(one.folder)
    expect(new Set(made).size).toBe(made.length)
    for (const [n, text] of results.entries()) {
      expect(text).toMatch(/^done$|is unknown|could not be|can't/)
      if (text === 'done') expect(made).toContain(n)
    }
    expect(results.some((text) => text.includes('is unknown'))).toBe(true)
    const { sessions } = await one.serving.call('listSessions', {}, 'root')
    const [{ actions, verdicts }] = sessions as [{ actions: number; verdicts: { allow: number } }]
    expect(verdicts.allow).toBeGreaterThanOrEqual(made.length)
    expect(actions).toBe(results.filter((text) => text === 'done').length)
  } finally {
    await one.close()
  }
})
