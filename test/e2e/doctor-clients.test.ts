/** Ways in which a client's connection breaks: cstp doctor names each, with the line that fixes it, and that line does. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readServiceFile } from '../../src/app/service-file.ts'
import {
  atEnd,
  bareEnv,
  cstp,
  cstpCommand,
  freePort,
  root,
  run,
  temporaryDir,
  testDir,
  testService,
  until,
} from '../support/process.ts'

interface Finding {
  check: string
  severity: string
  what: string
  fix: string
}

/** A folder that is connected for Claude Code, with a service that runs. */
async function connected() {
  const [data, dir] = [await temporaryDir(), await temporaryDir()]
  await mkdir(join(data, 'home'))
  await run(['git', 'init', '-q'], { cwd: dir, env: bareEnv(data) })
  const env = bareEnv(data, { HOME: join(data, 'home'), CSTP_IDLE_EXIT: '1h', CSTP_PORT: String(await freePort()) })
  const stop = async () => {
    const pid = readServiceFile(data)?.pid
    if (!pid) return
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
    await until('its end', async () => !(await Bun.file(`/proc/${pid}/stat`).exists()))
  }
  const init = await cstp(['init', '--client', 'claude-code', '--dir', dir], env)
  expect([init.status, init.err]).toEqual([0, ''])
  expect(init.out).toMatch(/✓ Claude Code: hook answered in \d+ ms, MCP \d+ tools\n/)
  const doctor = async (more: Record<string, string> = {}) => {
    const { status, out } = await cstp(['doctor', '--json'], { ...env, ...more })
    const { findings } = JSON.parse(out) as { findings: Finding[] }
    return { status, broken: findings.filter(({ check, severity }) => check === 'hooks' && severity !== 'note') }
  }
  /** What the model reads about its hooks at the start of a session, and when it connects over MCP. */
  const told = async () => {
    const { url } = readServiceFile(data)!
    const token = (await readFile(join(data, 'token'), 'utf8')).trim()
    const answer = await fetch(`${url}/hooks/claude-code`, {
      method: 'POST',
      headers: { authorization: `Bearer local:${token}` },
      body: JSON.stringify({ hook_event_name: 'SessionStart', session_id: crypto.randomUUID(), cwd: join(dir, 'src') }),
    })
    const { hookSpecificOutput } = (await answer.json()) as { hookSpecificOutput: { additionalContext: string } }
    const greeting = {
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }
    const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, ...greeting })}\n`
    const mcp = await run([...cstpCommand, 'mcp', '--service'], { cwd: dir, env, input })
    return [hookSpecificOutput.additionalContext, JSON.parse(mcp.out).result.instructions as string].map(
      (text) => /^cstp's hooks are not as cstp init left them.*/.exec(text)?.[0] ?? null,
    )
  }
  const settings = join(dir, '.claude/settings.local.json')
  return { data, dir, env, stop, doctor, told, printed: init.out, settings, script: join(data, 'hook/cstp-hook.mjs') }
}
type Connected = Awaited<ReturnType<typeof connected>>

const change = async (path: string, edit: (text: string) => string) =>
  writeFile(path, edit(await readFile(path, 'utf8')))

/** What breaks it, what the doctor says, and its fix; null if a person edits a file. */
const ways: [
  name: string,
  breaks: (at: Connected) => Promise<unknown>,
  what: RegExp,
  fix: RegExp,
  heal?: (at: Connected) => Promise<unknown>,
][] = [
  [
    'the hook script is replaced',
    ({ script }) => writeFile(script, 'process.exit(0)'),
    /hook script .* is not the one of this version/,
    / init /,
  ],
  ['the hook script is gone', ({ script }) => rm(script), /hook script .* is gone/, / init /],
  [
    'hooks are removed',
    ({ settings }) => change(settings, (text) => text.replace('"PreToolUse"', '"Pre"')),
    /there is no hook of ours in/,
    / init /,
  ],
  [
    'one of the hooks is removed',
    ({ settings }) =>
      change(settings, (text) =>
        JSON.stringify({ ...JSON.parse(text), hooks: { PreToolUse: JSON.parse(text).hooks.PreToolUse } }),
      ),
    /hooks were removed or changed in/,
    / init /,
  ],
  [
    '--shadow is added',
    ({ settings }) => change(settings, (text) => text.replaceAll('--guard', '--shadow')),
    /run in mode shadow, and were set up in mode guard/,
    / init /,
  ],
  [
    'disableAllHooks is set',
    ({ settings }) => change(settings, (text) => JSON.stringify({ ...JSON.parse(text), disableAllHooks: true })),
    /runs no hook of ours: disableAllHooks in/,
    /^take disableAllHooks out of /,
    ({ settings }) => change(settings, (text) => text.replace('"disableAllHooks":true', '"x":1')),
  ],
  [
    'the repository disables all hooks',
    ({ dir }) => writeFile(join(dir, '.claude/settings.json'), '{"disableAllHooks":true}'),
    /runs no hook of ours: disableAllHooks in \S+settings\.json/,
    /^take disableAllHooks out of /,
    ({ dir }) => rm(join(dir, '.claude/settings.json')),
  ],
  [
    'the hook script is a pipe',
    async ({ script, data }) => {
      await rename(script, `${script}.kept`)
      await run(['mkfifo', script], { cwd: data, env: bareEnv(data) })
    },
    /hook script .* is not the one of this version/,
    /./,
    ({ script }) => rename(`${script}.kept`, script),
  ],
  [
    'the settings are not JSON',
    ({ settings }) => change(settings, (text) => text.slice(1)),
    /can’t read .*settings.local.json/,
    /^correct it, then .* init /,
    ({ settings }) => change(settings, (text) => `{${text}`),
  ],
  [
    'the MCP server is removed',
    ({ dir }) => writeFile(join(dir, '.mcp.json'), '{}'),
    /there is no MCP server cstp in/,
    / init /,
  ],
  [
    'the MCP server is another command',
    ({ dir }) => change(join(dir, '.mcp.json'), (text) => text.replace('"--service"', '"--help"')),
    /the MCP server cstp was changed in/,
    / init /,
  ],
  [
    'the program is gone',
    async ({ data }) => {
      const [name] = await readdir(join(data, 'init'))
      await change(join(data, 'init', name!), (text) => text.replaceAll('"program":["', '"program":["/gone'))
    },
    /its commands run \/gone.*, which is gone/,
    / init /,
  ],
  [
    'the token is gone',
    ({ data }) => rm(join(data, 'token')),
    /hook: there is no token in/,
    /^kill \d+; sleep 2; .* init /,
  ],
  [
    'another program is on the port',
    async ({ data, stop }) => {
      const port = Number(new URL(readServiceFile(data)!.url).port)
      await stop()
      atEnd(Bun.serve({ port, hostname: '127.0.0.1', fetch: () => Response.json({}) }), (server) => server.stop(true))
    },
    /hook: another program answers at/,
    / init .* --port \d+$/,
  ],
  [
    'the service of another folder is on the port',
    async ({ data, stop }) => {
      await stop()
      const other = await testDir()
      await testService(bareEnv(other), ['--port', new URL(readServiceFile(data)!.url).port])
    },
    /hook: the service at .* does not accept the token of .*: it is the service of another data folder/,
    / init .* --port \d+$/,
  ],
]

let at: Connected
beforeAll(async () => {
  at = await connected()
})
afterAll(async () => {
  await at.stop()
  for (const path of [at.data, at.dir]) await rm(path, { recursive: true, force: true })
})

const isOfFiles = (name: string): boolean => ways.slice(0, -3).some(([one]) => one === name)

test('in a folder that is as init left it a session reads nothing about its hooks', async () => {
  expect(await at.told()).toEqual([null, null])
})

for (const [name, breaks, what, fix, heal] of ways)
  test(`${name}: the doctor says so, the next session too if it is in a file, and what they say fixes it`, async () => {
    await breaks(at)
    if (isOfFiles(name)) {
      const said = await at.told()
      expect(said).toEqual([
        expect.stringMatching(what),
        expect.stringMatching(/\. Say so to the user, who fixes it with: \S/),
      ])
      expect(said[0]).toBe(said[1]!)
    }
    const { status, broken } = await at.doctor()
    expect([status, broken[0]?.severity, broken[0]?.what, broken[0]?.fix]).toEqual([
      1,
      'error',
      expect.stringMatching(what),
      expect.stringMatching(fix),
    ])
    if (heal) await heal(at)
    else {
      const { CSTP_PORT: _port, ...env } = at.env
      const fixed = await run(['sh', '-c', broken[0]!.fix], { cwd: at.dir, env })
      expect([fixed.status, fixed.err, fixed.out]).toEqual([0, '', expect.stringContaining('✓ Claude Code')])
    }
  })

test('the README shows what init prints', async () => {
  const page = await readFile(join(root, 'README.md'), 'utf8')
  const shown = /run init\n```\n\n```text\n([^`]+)```/.exec(page)![1]!
  const masked = (text: string) => text.replace(/\d+(?= ms)/g, '<n>').split('\n')
  expect(masked(at.printed)).toEqual(expect.arrayContaining(masked(shown)))
})

test('settings that a repository has for the runtime change nothing of what runs for it', async () => {
  await writeFile(join(at.dir, 'bunfig.toml'), 'preload = ["./theirs.ts"]')
  await writeFile(join(at.dir, 'theirs.ts'), 'await Bun.write("ran", "")')
  await writeFile(join(at.dir, '.env'), 'CSTP_URL=http://127.0.0.1:1\nCSTP_DATA_DIR=/nowhere')
  expect((await at.doctor()).broken).toEqual([])
  expect(await Bun.file(join(at.dir, 'ran')).exists()).toBe(false)
})

test('what each of these lines fixed is sound', async () => {
  expect((await at.doctor()).broken).toEqual([])
})

test('a service that is down is named with the time and the line that starts it; one that can be started is', async () => {
  const { stop, doctor, data } = at
  await stop()
  const [down] = (await doctor({ CSTP_IDLE_EXIT: '0' })).broken
  expect(down).toMatchObject({
    severity: 'error',
    what: expect.stringMatching(/^the service at http:\/\/127.0.0.1:\d+ is down/),
    fix: expect.stringMatching(/ serve --data-dir /),
  })
  const { status, broken } = await doctor()
  expect([status, broken]).toMatchObject([
    1,
    [{ severity: 'warning', what: expect.stringContaining('the service was down') }],
  ])
  expect(readServiceFile(data)?.pid).toBeNumber()
  expect((await doctor()).broken).toEqual([])
})

test('a client that ran what it did not ask about, or what was stopped, is named', async () => {
  const { data, doctor } = at
  const { url } = readServiceFile(data)!
  const token = (await readFile(join(data, 'token'), 'utf8')).trim()
  const send = async (event: string, session_id: string, command: string) => {
    const body = { hook_event_name: event, session_id, cwd: '/', tool_name: 'Bash', tool_use_id: 't1' }
    const answer = await fetch(`${url}/hooks/claude-code`, {
      method: 'POST',
      headers: { authorization: `Bearer local:${token}` },
      body: JSON.stringify({ ...body, tool_input: { command }, tool_response: '' }),
    })
    expect(answer.status).toBe(200)
  }
  await send('PostToolUse', 's1', 'ls')
  await send('PreToolUse', 's2', 'rm -rf /')
  await send('PostToolUse', 's2', 'rm -rf /')
  expect((await doctor()).broken).toEqual([
    {
      check: 'hooks',
      severity: 'error',
      what: 'Claude Code: 1 call of the last 7 days ran though stopped',
      fix: expect.stringContaining('cstp hook report'),
    },
    {
      check: 'hooks',
      severity: 'warning',
      what: expect.stringMatching(/^Claude Code: 1 session of the last 7 days called tools and asked before none/),
      fix: expect.stringContaining('/hooks'),
    },
  ])
  const { out, err } = await cstp(['hook', 'report', '--url', url], at.env)
  expect(err).toBe('')
  expect(out).toContain('RAN though stopped')
  expect(out).toContain('RAN unjudged')
})
