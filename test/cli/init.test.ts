/** cstp init: what it writes for each client, that a second run changes nothing, and that --undo restores every byte. */
import { afterEach, describe, expect, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Ajv from 'ajv'
import { apply, undo } from '../../src/app/init/apply.ts'
import { editsOf } from '../../src/app/init/clients.ts'
import { connectionOf } from '../../src/app/init/connection.ts'
import { blockIn, editJson, withBlock, withHooks, withParagraph } from '../../src/app/init/edits.ts'
import { prove } from '../../src/app/init/proof.ts'
import { initClients, type Wiring } from '../../src/app/init/wiring.ts'
import { bareEnv, built, cstp, freePort, run as runProgram, testService } from '../support/process.ts'
import * as fc from '../support/property.ts'

const made: string[] = []
afterEach(async () => {
  for (const dir of made.splice(0)) await rm(dir, { recursive: true, force: true })
})
async function folder(files: Record<string, string> = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-init-'))
  made.push(dir)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(dir, path, '..'), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  return dir
}

/** Every file and folder below, with its content. */
async function treeOf(dir: string): Promise<Record<string, string>> {
  const paths = (await readdir(dir, { recursive: true })).sort()
  const all = await Promise.all(
    paths.map(async (path) => {
      const at = join(dir, path)
      return [path, (await stat(at)).isDirectory() ? '/' : await readFile(at, 'base64')] as const
    }),
  )
  return Object.fromEntries(all)
}

/** Settings as people have them: other hooks, another indentation, no newline at the end, a byte order mark. */
const before = {
  '.claude/settings.local.json':
    '{\n    "model": "opus",\n    "hooks": {\n        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}]\n    }\n}',
  '.gemini/settings.json': '{"theme":"dark","hooks":{}}\n',
  '.cursor/hooks.json': '\ufeff{\n\t"version": 1\n}\n',
  '.mcp.json': '{"mcpServers":{"other":{"command":"x"}}}',
  'opencode.json': '{\n  "theme": "system",\n  "mcp": {}\n}\n',
  'CLAUDE.local.md': '# Shop\r\n\r\nUse tabs.',
  'AGENTS.md': '',
  '.codex/config.toml': 'model = "x"\n\n[mcp_servers.other]\ncommand = "y"',
}
const run = async (dir: string, data: string, args: string[], env: Record<string, string> = {}) =>
  cstp(['init', '--dir', dir, '--skip-proof', ...args], { ...bareEnv(data), ...env })
const wiringOf = (more: Partial<Wiring> = {}): Wiring => ({
  shared: false,
  required: false,
  mode: 'enforce',
  url: null,
  data_dir: '/data',
  program: ['/opt/cstp'],
  runtime: '/usr/bin/node',
  gateway: false,
  http: false,
  windows: false,
  ...more,
})
/** What runs the script of hooks: the runtime, which a compiled program is too. */
const runtime = built === null ? process.execPath : `env BUN_BE_BUN=1 ${built}`
/** The settings that a client got for an empty folder, by path. */
const writtenBy = (wiring: Wiring, clients = initClients as readonly (typeof initClients)[number][]) =>
  Object.fromEntries(editsOf(clients, wiring, '/shop').map(({ path, apply: text }) => [path.slice(6), text(null)]))
const all = ['--client', initClients.join(',')]

describe('cstp init', () => {
  test('writes every client, changes nothing the second time, and --undo restores every byte', async () => {
    const [dir, data] = [await folder(before), await folder()]
    const first = await treeOf(dir)
    const written = await run(dir, data, all)
    expect([written.status, written.err]).toEqual([0, ''])
    const wired = await treeOf(dir)
    expect(Object.keys(wired)).toEqual(
      expect.arrayContaining(['.codex/hooks.json', '.github/hooks/cstp.json', '.cstp/opencode.js']),
    )
    const again = await run(dir, data, all)
    expect(again.out).not.toContain('written')
    expect(await treeOf(dir)).toEqual(wired)
    // Another mode replaces what the first run wrote.
    await run(dir, data, [...all, '--enforce'])
    expect(await readFile(join(dir, '.claude/settings.local.json'), 'utf8')).not.toContain('--guard')
    expect((await run(dir, data, ['--undo'])).status).toBe(0)
    expect(await treeOf(dir)).toEqual(first)
    expect(await readdir(join(data, 'init'))).toEqual([])
    expect((await run(dir, data, ['--undo'])).out).toBe('Nothing was written here.\n')
  })

  test('is in guard mode unless it is set to another; what can fail closed does', async () => {
    const [dir, data] = [await folder(), await folder()]
    const read = async (path: string) => JSON.parse(await readFile(join(dir, path), 'utf8'))
    const script = join(data, 'hook', 'cstp-hook.mjs')
    const codex = async () => (await read('.codex/hooks.json')).hooks.PreToolUse[0].hooks[0].command
    for (const [flags, mode, end] of [
      [[], ' --guard', ' || exit 2'],
      [['--shadow'], ' --shadow', ''],
      [['--enforce'], '', ' || exit 2'],
    ] as const) {
      await run(dir, data, [...all, ...flags])
      expect(await codex()).toBe(
        `${runtime} --config=/dev/null --no-env-file ${script} codex${mode} --data-dir ${data}${end}`,
      )
    }
    const claude = (await read('.claude/settings.local.json')).hooks
    expect(claude.PreToolUse).toMatchObject([{ matcher: '*', hooks: [{ type: 'command', onFailure: 'block' }] }])
    expect((await read('.gemini/settings.json')).hooks.BeforeTool[0].hooks[0].command).toEndWith(' || exit 2')
    expect((await read('.codex/hooks.json')).hooks.Stop[0].hooks[0].command).not.toContain('exit')
    expect((await read('.cursor/hooks.json')).hooks.preToolUse[0]).toMatchObject({ failClosed: true })
    expect((await run(dir, data, [...all, '--enforce', '--shadow'])).status).toBe(2)
  })

  test('Codex may type into no command, unless it stops none; features of its own are left as they are, and named', async () => {
    const [dir, data] = [await folder(), await folder()]
    const path = join(dir, '.codex/config.toml')
    const settings = async () => Bun.TOML.parse(await readFile(path, 'utf8')) as Record<string, object>
    const codex = (...flags: string[]) => run(dir, data, ['--client', 'codex', ...flags])
    expect((await codex()).out).toContain('it may start none with a terminal')
    expect(await settings()).toMatchObject({ features: { unified_exec_tty: false } })
    expect((await codex('--shadow')).out).toContain('lets none be typed')
    expect(await settings()).not.toHaveProperty('features')
    for (const own of ['[features]\nhooks = true\n', 'features.hooks = true\n', 'features = { hooks = true }\n']) {
      await writeFile(path, own)
      expect((await codex()).out).toContain('unified_exec_tty = false below [features]')
      expect(await settings()).toMatchObject({ features: { hooks: true }, mcp_servers: { cstp: {} } })
    }
    await writeFile(path, '[features]\nunified_exec_tty = false\n')
    expect((await codex()).out).toContain('it may start none with a terminal')
  })

  test('Claude Code sends events itself only over https, in a version that stops a call if that fails', async () => {
    const [dir, data, bin] = [await folder(), await folder(), await folder()]
    const token = { CSTP_AGENT: 'ada', CSTP_TOKEN: 'ada-token-of-the-test', PATH: `${bin}:${process.env.PATH}` }
    const kind = async (version: string, url: string) => {
      await writeFile(join(bin, 'claude'), `#!/bin/sh\necho '${version} (Claude Code)'\n`, { mode: 0o755 })
      await run(dir, data, ['--client', 'claude-code', '--url', url], token)
      const { hooks } = JSON.parse(await readFile(join(dir, '.claude/settings.local.json'), 'utf8'))
      expect(hooks.SessionStart[0].hooks[0].type).toBe('command')
      return hooks.PreToolUse[0].hooks[0].type
    }
    expect(await kind('2.1.330', 'https://cstp.example')).toBe('http')
    expect(await kind('2.2.0', 'https://cstp.example')).toBe('http')
    expect(await kind('2.1.197', 'https://cstp.example')).toBe('command')
    // Another program on the port would get the token.
    expect(await kind('2.1.330', 'http://127.0.0.1:9991')).toBe('command')
    // No token is written anywhere.
    for (const text of Object.values(await treeOf(dir)))
      expect(Buffer.from(text, 'base64').toString()).not.toContain('ada-token')
  })

  test('what is written for this machine is not seen by git, and what git tracks is named or left alone', async () => {
    const [dir, data] = [await folder({ 'AGENTS.md': '# Ours', '.gemini/settings.json': '{}\n' }), await folder()]
    const git = async (...args: string[]) =>
      (
        await runProgram(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
          cwd: dir,
          env: bareEnv(data),
        })
      ).out
    await git('init', '-q')
    await git('add', '-A')
    await git('commit', '-qm', 'x')
    const first = await treeOf(dir)
    const { out } = await run(dir, data, all)
    expect(await git('status', '--short')).toBe(' M .gemini/settings.json\n')
    expect(out).toContain('.gemini/settings.json: git tracks it')
    await run(dir, data, ['--undo'])
    expect(await treeOf(dir)).toEqual(first)
  })

  test('--undo works in a folder that was moved, and in a copy, which leaves the original connected', async () => {
    const [parent, data] = [await folder(), await folder()]
    const [old, copy, moved] = ['old', 'copy', 'moved'].map((name) => join(parent, name)) as [string, string, string]
    for (const [path, text] of Object.entries(before)) {
      await mkdir(join(old, path, '..'), { recursive: true })
      await writeFile(join(old, path), text)
    }
    const first = await treeOf(old)
    await run(old, data, all)
    const wired = await treeOf(old)
    await cp(old, copy, { recursive: true })
    await run(copy, data, ['--undo'])
    expect(await treeOf(copy)).toEqual(first)
    expect(await treeOf(old)).toEqual(wired)
    expect(await Bun.file(join(data, 'hook', 'cstp-hook.mjs')).exists()).toBe(true)
    await rename(old, moved)
    await run(moved, data, ['--undo'])
    expect(await treeOf(moved)).toEqual(first)
    expect(await readdir(data)).not.toContain('hook')
    expect(await readdir(join(data, 'init'))).toEqual([])
  })

  test('--shared names no path of this machine, and stops nobody who has not run init', async () => {
    const [dir, data] = [await folder(), await folder()]
    await run(dir, data, [...all, '--shared'])
    const tree = await treeOf(dir)
    expect(Object.keys(tree)).toContain('.cstp/cstp-hook.mjs')
    for (const [path, text] of Object.entries(tree)) {
      const shown = Buffer.from(text, 'base64').toString()
      expect([path, shown.includes(dir) || shown.includes(data) || shown.includes(built ?? process.execPath)]).toEqual([
        path,
        false,
      ])
    }
    const others = await folder()
    const hooks = JSON.parse(await readFile(join(dir, '.codex/hooks.json'), 'utf8')).hooks
    const of = (event: string) => hooks[event][0].hooks[0].command as string
    const say = (hook_event_name: string, command = of(hook_event_name)) =>
      runProgram(['sh', '-c', command], {
        cwd: dir,
        env: bareEnv(others),
        input: JSON.stringify({
          session_id: 's',
          cwd: dir,
          hook_event_name,
          tool_name: 'Bash',
          tool_input: { command: 'rm -rf /' },
        }),
      })
    const silent = { status: 0, out: '', err: '' }
    expect(await say('PreToolUse')).toEqual(silent)
    await mkdir(join(dir, '.git'))
    // Nobody reads what these print then, so it is not said yet.
    for (const client of ['copilot', 'cursor'])
      expect(await say('SessionStart', of('SessionStart').replace(' codex ', ` ${client} `))).toEqual(silent)
    const { out } = await say('SessionStart')
    expect(out).toContain('cstp init')
    expect(await say('SessionStart')).toEqual(silent)
    // The script is gone in an old branch.
    await rm(join(dir, '.cstp/cstp-hook.mjs'))
    expect((await say('PreToolUse')).status).not.toBe(2)
    await run(dir, data, [...all, '--shared', '--required'])
    expect(await say('PreToolUse')).not.toEqual(silent)
    const required = JSON.parse(await readFile(join(dir, '.codex/hooks.json'), 'utf8')).hooks.PreToolUse[0].hooks[0]
    expect(required.command).toEndWith(' || exit 2')
    // A second run keeps what the owner of the repository wrote.
    await run(dir, data, [...all, '--shared'])
    expect(await readFile(join(dir, '.cstp/init.json'), 'utf8')).toBe('{"required":true}\n')
    await rm(join(dir, '.git'), { recursive: true })
    await run(dir, data, ['--undo', '--shared'])
    expect(await treeOf(dir)).toEqual({})
  })

  test('init in a clone with shared settings joins: nothing that git tracks is changed, and --undo leaves it alone', async () => {
    const [dir, data] = [await folder(), await folder()]
    const git = async (...args: string[]) => {
      const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
      return (await runProgram(['git', ...who, ...args], { cwd: dir, env: bareEnv(data) })).out
    }
    await git('init', '-q')
    await run(dir, data, ['--client', 'codex,gemini', '--shared', '--enforce'])
    await git('add', '-A')
    await git('commit', '-q', '-m', 'x')
    const own = await folder()
    const joined = await run(dir, own, ['--client', 'codex,gemini', '--json'])
    expect([joined.status, JSON.parse(joined.out).mode, await git('status', '--porcelain')]).toEqual([0, 'enforce', ''])
    expect(await run(dir, own, ['--client', 'codex', '--shadow'])).toMatchObject({
      err: expect.stringContaining('only --shared changes them'),
    })
    // Its owner has another version.
    const script = join(dir, '.cstp/cstp-hook.mjs')
    await writeFile(script, `${await readFile(script, 'utf8')}// newer\n`)
    await git('commit', '-q', '-a', '-m', 'y')
    const { out } = await cstp(['doctor', '--json'], bareEnv(own))
    const found = (JSON.parse(out).findings as { severity: string; what: string }[]).filter(({ what }) =>
      /^(?:Codex|Gemini CLI): (?!hooks written)/.test(what),
    )
    expect(found.map(({ severity, what }) => [severity, what.includes('not the one of this version')])).toEqual([
      ['warning', true],
      ['warning', true],
    ])
    expect(await run(dir, own, ['--undo'])).toMatchObject({ status: 0 })
    expect(await git('status', '--porcelain')).toBe('')
  })

  test('--undo in a clone with shared settings, which was never connected here, takes out what is ours', async () => {
    const [dir, data, others] = [
      await folder({ 'CLAUDE.md': '# Ours\n', 'a.txt': 'cstp' }),
      await folder(),
      await folder(),
    ]
    await run(dir, data, [...all, '--shared'])
    expect((await run(dir, others, ['--undo'])).status).toBe(0)
    expect(Object.keys(await treeOf(dir))).toEqual(['CLAUDE.md', 'a.txt'])
    expect(await readFile(join(dir, 'CLAUDE.md'), 'utf8')).toBe('# Ours')
    expect((await run(dir, others, ['--undo'])).out).toBe('Nothing was written here.\n')
  })

  test('a file with comments is left alone, and nothing else is written', async () => {
    const [dir, data] = [await folder({ '.gemini/settings.json': '{ // mine\n}' }), await folder()]
    const first = await treeOf(dir)
    const { status, err } = await run(dir, data, all)
    expect([status, err]).toEqual([
      1,
      expect.stringContaining('.gemini/settings.json: it is not plain JSON (comments?); nothing was written'),
    ])
    expect(await treeOf(dir)).toEqual(first)
  })

  test.skipIf(process.platform === 'win32')(
    'what a repository has in place of a file, a pipe or a link that leads out of it, is neither waited for nor written',
    async () => {
      const outside = await folder({ profile: 'mine' })
      const links = { file: join(outside, 'profile'), missing: join(outside, 'new'), folder: outside }
      for (const [what, path, refused] of [
        ['pipe', '.mcp.json', 'is no regular file'],
        ['file', 'CLAUDE.local.md', 'leads out of'],
        ['missing', '.mcp.json', 'leads out of'],
        ['folder', '.claude', 'leads out of'],
      ] as const) {
        const [dir, data] = [await folder({ 'a.txt': '' }), await folder()]
        if (what === 'pipe') Bun.spawnSync(['mkfifo', join(dir, path)])
        else await symlink(links[what], join(dir, path))
        const { status, err } = await run(dir, data, ['--client', 'claude-code'])
        expect([status, err]).toEqual([1, expect.stringContaining(refused)])
        expect((await readdir(dir)).sort()).toEqual(['a.txt', path].sort())
      }
      expect(await treeOf(outside)).toEqual({ profile: btoa('mine') })
      const [dir, data] = [await folder(), await folder()]
      expect((await run(dir, data, ['--client', 'claude-code'])).status).toBe(0)
      await rm(join(dir, '.mcp.json'))
      Bun.spawnSync(['mkfifo', join(dir, '.mcp.json')])
      const { out } = await cstp(['doctor'], bareEnv(data))
      // Long paths break the line.
      expect(out).toMatch(/\.mcp\.json:\s+is\s+no\s+regular\s+file/)
    },
  )

  test('a file that was changed since loses only what was added', async () => {
    const [dir, data] = [await folder(before), await folder()]
    await run(dir, data, all)
    const path = join(dir, '.claude/settings.local.json')
    const settings = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(path, JSON.stringify({ ...settings, mine: true }))
    expect((await run(dir, data, ['--undo'])).out).toContain('edited     .claude/settings.local.json')
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      ...JSON.parse(before['.claude/settings.local.json']),
      mine: true,
    })
  })

  test('the script of two folders goes with the last of them', async () => {
    const [one, two, data] = [await folder(), await folder(), await folder()]
    for (const dir of [one, two]) await run(dir, data, ['--client', 'codex'])
    const script = join(data, 'hook', 'cstp-hook.mjs')
    await run(one, data, ['--undo'])
    expect(await Bun.file(script).exists()).toBe(true)
    await run(two, data, ['--undo'])
    expect(await Bun.file(script).exists()).toBe(false)
  })

  test('an unknown client is refused; without a sign of any, it asks for a name', async () => {
    const [dir, data] = [await folder(), await folder()]
    expect(await run(dir, data, ['--client', 'emacs'])).toMatchObject({
      status: 2,
      err: expect.stringContaining('codex'),
    })
    expect(await run(dir, data, [], { PATH: '' })).toMatchObject({
      status: 1,
      err: expect.stringContaining('--client'),
    })
  })
})

/** Settings without events that have no hook. */
function filled({ hooks = {}, ...rest }: Record<string, unknown>): object {
  const kept = Object.entries(hooks as object).filter(([, list]) => (list as unknown[]).length > 0)
  return { ...rest, hooks: Object.fromEntries(kept) }
}

test('settings of any form keep what is not ours, through any number of edits', () => {
  const entry = fc.oneof(
    fc.record({ command: fc.string() }),
    fc.record({ hooks: fc.array(fc.record({ command: fc.string() })) }),
    fc.jsonValue(),
  )
  const settings = fc.record(
    { hooks: fc.dictionary(fc.constantFrom('PreToolUse', 'Stop', 'Other'), fc.array(entry)), other: fc.jsonValue() },
    { requiredKeys: [] },
  )
  const ours = {
    PreToolUse: { hooks: [{ command: 'node /x/cstp-hook.mjs codex' }] },
    Stop: { command: 'cstp hook cursor' },
  }
  fc.assert(
    fc.property(settings, (given) => {
      const root = JSON.parse(JSON.stringify(given))
      const once = withHooks(root, ours)
      expect(withHooks(once, ours)).toEqual(once)
      // An empty list or object of theirs is not told from one that ours filled.
      expect(filled(withHooks(once, {}))).toEqual(filled(root))
    }),
  )
})

test('a paragraph is added once, replaced and removed', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const once = withParagraph(text, 'Ask first.')
      expect(withParagraph(once, 'Ask first.')).toBe(once)
      expect(withParagraph(withParagraph(once, 'Ask twice.'), null).trimEnd()).toBe(text.trimEnd())
    }),
  )
})

test('on Windows the commands are quoted for its shells, and end in a way that stops there', () => {
  const written = writtenBy(wiringOf({ data_dir: 'C:\\Users\\A B', runtime: 'C:\\node.exe', windows: true }))
  const of = (path: string, event: string) => JSON.parse(written[path]!).hooks[event][0]
  expect(of('.codex/hooks.json', 'PreToolUse').hooks[0].command).toMatch(
    /^node "C:\/Users\/A B\/hook\/cstp-hook.mjs" codex .* \|\| exit 2$/,
  )
  expect(of('.gemini/settings.json', 'BeforeTool').hooks[0].command).toEndWith('; if (!$?) { exit 2 }')
  expect(of('.github/hooks/cstp.json', 'PreToolUse').powershell).toBe(of('.github/hooks/cstp.json', 'PreToolUse').bash)
})

/** https://opencode.ai/config.json: its two kinds of MCP servers, closed. */
const texts = { type: 'object', additionalProperties: { type: 'string' } }
const serverKinds = [
  ['local', { command: { type: 'array', items: { type: 'string' } }, environment: texts }, ['command']],
  ['remote', { url: { type: 'string' }, headers: texts, oauth: { const: false } }, ['url']],
] as const
const opencodeServers = {
  oneOf: serverKinds.map(([type, properties, required]) => ({
    type: 'object',
    properties: { type: { const: type }, enabled: { type: 'boolean' }, timeout: { type: 'integer' }, ...properties },
    required: ['type', ...required],
    additionalProperties: false,
  })),
}

test.each([
  ['local', wiringOf()],
  ['remote', wiringOf({ shared: true, url: 'https://cstp.example' })],
])('the MCP server is in the settings of OpenCode as its schema wants it, %s', (_, wiring) => {
  const edit = editsOf(['opencode'], wiring, '/shop').find(({ path }) => path === '/shop/opencode.json')!
  const { mcp, ...rest } = JSON.parse(edit.apply('{"theme":"system","mcp":{"other":{"type":"local","command":["x"]}}}'))
  expect([rest, Object.keys(mcp)]).toEqual([
    { $schema: 'https://opencode.ai/config.json', theme: 'system', plugin: ['./.cstp/opencode.js'] },
    ['other', 'cstp'],
  ])
  const valid = new Ajv({ strict: false }).compile(opencodeServers)
  expect([valid(mcp.cstp), valid.errors]).toEqual([true, null])
  expect(valid({ ...mcp.cstp, args: [] })).toBe(false)
})

test('a plugin of OpenCode that its settings do not name is no hook', async () => {
  const [dir, data] = [await folder(), await folder()]
  await run(dir, data, ['--client', 'opencode'])
  const hook = () => connectionOf('opencode', wiringOf({ data_dir: data }), dir).hook
  expect(hook()).toMatchObject({ command: expect.stringContaining(' opencode ') })
  const settings = JSON.parse(await readFile(join(dir, 'opencode.json'), 'utf8'))
  await writeFile(join(dir, 'opencode.json'), JSON.stringify({ ...settings, plugin: [] }))
  expect(hook()).toBeNull()
})

test('every client gets the MCP server where it looks for it, by the whole path of the program', () => {
  const server = (wiring: Wiring, path: string) => {
    const text = writtenBy(wiring)[path]!
    const { mcpServers, mcp_servers } = path.endsWith('toml') ? (Bun.TOML.parse(text) as never) : JSON.parse(text)
    return (mcpServers ?? mcp_servers).cstp
  }
  const local = { command: '/opt/cstp', args: ['mcp', '--service', '--data-dir', '/data'] }
  const joined = { command: 'node', args: ['.cstp/cstp-hook.mjs', 'mcp'] }
  for (const path of ['.gemini/settings.json', '.cursor/mcp.json', '.mcp.json', '.codex/config.toml']) {
    expect(server(wiringOf(), path)).toEqual(local)
    expect(server(wiringOf({ shared: true }), path)).toEqual(joined)
  }
  const remote = wiringOf({ shared: true, url: 'https://h' })
  const [begin, url] = ['Bearer $', 'https://h/mcp']
  expect(server(remote, '.gemini/settings.json')).toEqual({
    httpUrl: url,
    headers: { Authorization: `${begin}CSTP_AGENT:$CSTP_TOKEN` },
  })
  expect(server(remote, '.cursor/mcp.json')).toEqual({
    url,
    headers: { Authorization: `${begin}{env:CSTP_AGENT}:$\{env:CSTP_TOKEN}` },
  })
  expect(server(remote, '.mcp.json')).toEqual({
    type: 'http',
    url,
    headers: { Authorization: `${begin}{CSTP_AGENT:-local}:$\{CSTP_TOKEN}` },
  })
})

test('addresses in settings are asked as commands are run, with the token of the environment', async () => {
  const dir = await folder()
  const { url } = await testService(bareEnv(dir), ['--port', String(await freePort())])
  const at = { hook: { url: `${url}/hooks/claude-code?mode=guard` }, server: { url: `${url}/mcp` } }
  const none = { files: { hooks: 'a', server: 'b' }, report: null, unreadable: [] }
  const ask = async (env: Record<string, string>) => {
    const { hook_ms, ...proof } = await prove('claude-code', { ...none, ...at }, { dir, env })
    return [typeof hook_ms, proof.mode, proof.tools, ...proof.problems]
  }
  expect(await ask({ CSTP_TOKEN: (await readFile(join(dir, 'token'), 'utf8')).trim() })).toEqual([
    'number',
    'guard',
    19,
  ])
  const lacks = 'CSTP_TOKEN is not set in the environment'
  expect(await ask({})).toEqual(['object', null, null, `hook: ${lacks}`, `MCP: ${lacks}`])
  const [, , , hook, mcp] = await ask({ CSTP_TOKEN: 'x' })
  expect(hook).toBe(`hook: ${at.hook.url} answered 401`)
  expect(mcp).toStartWith('MCP: ')
})

test('the paragraph for the model is in the page that each client reads', async () => {
  const pages = (wiring: Wiring, dir: string) =>
    editsOf(['claude-code', 'gemini', 'codex'], wiring, dir).flatMap(({ path }) => (path.endsWith('.md') ? [path] : []))
  const dir = await folder({ '.gemini/settings.json': '{"context":{"fileName":["CONTEXT.md","GEMINI.md"]}}' })
  expect(pages(wiringOf(), dir).map((path) => path.slice(dir.length + 1))).toEqual([
    'CLAUDE.local.md',
    'CONTEXT.md',
    'AGENTS.md',
  ])
  expect(pages(wiringOf({ shared: true }), '/shop')).toEqual(['/shop/CLAUDE.md', '/shop/GEMINI.md', '/shop/AGENTS.md'])
  // Any file may be named by a repository.
  for (const fileName of ['../.profile', '/etc/motd.md', '.git/x.md', 'build.sh']) {
    const hostile = await folder({ '.gemini/settings.json': JSON.stringify({ context: { fileName } }) })
    expect(pages(wiringOf(), hostile)[1]).toBe(join(hostile, 'GEMINI.md'))
  }
  const [shop, home] = [
    await folder(),
    await folder({ '.gemini/settings.json': '{"context":{"fileName":"AGENTS.md"}}' }),
  ]
  await run(shop, await folder(), ['--client', 'gemini'], { HOME: home })
  expect(Object.keys(await treeOf(shop))).toEqual(['.gemini', '.gemini/settings.json', 'AGENTS.md'])
})

test('lines in a file with comments are added once, replaced and removed', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.stringMatching(/^[a-z/]+$/), { minLength: 1 }), (text, lines) => {
      const once = withBlock(text, lines.join('\n'))
      expect(blockIn(once)).toEqual(lines)
      expect(withBlock(once, lines.join('\n'))).toBe(once)
      expect(withBlock(withBlock(once, 'other'), null).trimEnd()).toBe(text.trimEnd())
    }),
  )
  expect(() => withBlock('[mcp_servers.cstp]\ncommand = "x"\n', 'y', /^\[mcp_servers\.cstp\]/m)).toThrow('of its own')
})

test('a run that is broken off has left what takes it back', async () => {
  const [dir, data] = [await folder(before), await folder()]
  const first = await treeOf(dir)
  const wiring = wiringOf({ data_dir: data })
  const edits = editsOf(['claude-code', 'gemini'], wiring, dir)
  await mkdir(join(dir, 'CLAUDE.md.d'))
  const broken = [...edits, { path: join(dir, 'CLAUDE.md.d'), apply: () => 'x', undo: () => null }]
  const manifest = { dir, wirings: { 'claude-code': wiring }, at: '2026-07-01T00:00:00Z' }
  await expect(apply(data, manifest, broken)).rejects.toThrow()
  await rm(join(dir, 'CLAUDE.md.d'), { recursive: true })
  await undo(data, dir, edits)
  expect(await treeOf(dir)).toEqual(first)
  expect(editJson(null, (root) => root)).toBe('{}\n')
})
