/**
 * The first hour with each client, as the real program in an empty home: one command connects it and proves that, a command that can't be undone
 * runs in its safe form, the next session knows what was decided, a service that was killed is there again and stops what is irreversible, and
 * everything is taken back byte for byte. No name of the program is on PATH.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { clientNames } from '../../src/app/init/wiring.ts'
import { readServiceFile } from '../../src/app/service-file.ts'
import { type Agent, describeClients, openAgent, whyNot } from '../support/agent-clients.ts'
import { cstp, freePort, run, until } from '../support/process.ts'

/** Every file below the folder but those of git itself, with its content. */
async function treeOf(dir: string): Promise<Record<string, string>> {
  const paths = (await readdir(dir, { recursive: true })).filter((path) => !/^\.git\/(?!info)/.test(path)).sort()
  const files = await Promise.all(
    paths.map(async (path) =>
      (await stat(join(dir, path))).isFile() ? [[path, await readFile(join(dir, path), 'base64')]] : [],
    ),
  )
  return Object.fromEntries(files.flat())
}

describeClients(['codex', 'gemini', 'claude-code', 'opencode', 'copilot'], whyNot, (client) => {
  let agent: Agent
  let data: string
  let env: Record<string, string>
  let before: Record<string, string>
  const pid = () => readServiceFile(data)?.pid ?? null
  async function kill() {
    const running = pid()
    if (running === null) return
    process.kill(running, 'SIGKILL')
    await until('its end', async () => !(await Bun.file(`/proc/${running}/stat`).exists()))
  }
  beforeAll(async () => {
    agent = await openAgent(client)
    data = join(agent.home, '.cstp')
    env = { HOME: agent.home, PATH: process.env.PATH ?? '', CSTP_EMBEDDER: 'hash', CSTP_PORT: String(await freePort()) }
    await run(['git', 'init', '-q', '-b', 'main'], { cwd: agent.project, env })
    before = await treeOf(agent.project)
  })
  afterAll(async () => {
    await kill()
    await agent.close()
  })

  test('one command connects it, and proves it', async () => {
    const { status, out, err } = await cstp(['init', '--client', client, '--dir', agent.project], env)
    expect([status, err]).toEqual([0, ''])
    const [line] = out.split('\n').filter((one) => one.startsWith('✓'))
    expect(line).toMatch(new RegExp(`^✓ ${clientNames[client]}: hook answered in \\d+ ms, MCP \\d+ tools$`))
    expect((await run(['git', 'status', '--porcelain'], { cwd: agent.project, env })).out).toBe('')
    for (const text of Object.values(await treeOf(agent.project)))
      expect(Buffer.from(text, 'base64').toString()).not.toMatch(/"command": "(?:cstp|node) /)
  })

  test('a command with a safe form runs in it where the client takes that, and is else stopped with it', async () => {
    const { result } = await agent.turn({}, { command: 'GIT_TRACE=1 git push --force origin main' })
    const changes = client === 'codex' || client === 'gemini' || client === 'claude-code'
    if (changes) expect(result).toContain('built-in: git push --force-with-lease origin main')
    else expect(result).toContain('git push --force-with-lease origin main')
    expect(result).not.toContain('built-in: git push --force origin')
  })

  test('the next session knows what was decided', async () => {
    const decision = ['record', 'Files are made by the build', '--category', 'process', '--confidence', '0.9']
    expect(await cstp(decision, env)).toMatchObject({ status: 0, err: '' })
    const turn = await agent.turn({})
    expect([turn.ran, turn.saw('Files are made by the build')]).toEqual([true, true])
  })

  test('a service that was killed is there again, and a command that cannot be undone is stopped with its reason and what to do instead', async () => {
    const first = pid()
    await kill()
    const { result } = await agent.turn({}, { command: 'git reset --hard' })
    expect([pid() === first, pid()]).toEqual([false, expect.any(Number)])
    expect(result).toContain('cstp stopped this call. irreversible.')
    expect(result).toContain('What would allow it:')
    expect(result).toContain('git stash')
  })

  test('--undo leaves every byte as it was', async () => {
    expect(await cstp(['init', '--undo', '--dir', agent.project], env)).toMatchObject({ status: 0, err: '' })
    const { 'ran.txt': _, ...after } = await treeOf(agent.project)
    expect(after).toEqual(before)
    expect((await agent.turn({}, { command: 'git reset --hard' })).result).not.toContain('irreversible.')
  })
})
