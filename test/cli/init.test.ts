/** cstp init: what it writes for each client, that a second run changes nothing, and that --undo restores every byte. */
import { afterEach, describe, expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Ajv from 'ajv'
import { apply, undo } from '../../src/app/init/apply.ts'
import { editsOf, initClients } from '../../src/app/init/clients.ts'
import { editJson, withHooks, withParagraph } from '../../src/app/init/edits.ts'
import { bareEnv, cstp } from '../support/process.ts'
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
  'CLAUDE.md': '# Shop\r\n\r\nUse tabs.',
  'AGENTS.md': '',
}
const run = async (dir: string, data: string, args: string[], env: Record<string, string> = {}) =>
  cstp(['init', '--dir', dir, ...args], { ...bareEnv(data), ...env })
const all = ['--client', initClients.join(',')]

describe('cstp init', () => {
  test('writes every client, changes nothing the second time, and --undo restores every byte', async () => {
    const [dir, data] = [await folder(before), await folder()]
    const first = await treeOf(dir)
    const written = await run(dir, data, all)
    expect([written.status, written.err]).toEqual([0, ''])
    const wired = await treeOf(dir)
    expect(Object.keys(wired)).toEqual(
      expect.arrayContaining(['.codex/hooks.json', '.github/hooks/cstp.json', '.opencode/plugin/cstp.js']),
    )
    const again = await run(dir, data, all)
    expect(again.out).not.toContain('written')
    expect(await treeOf(dir)).toEqual(wired)
    // Another mode replaces what the first run wrote.
    await run(dir, data, [...all, '--enforce'])
    expect(await readFile(join(dir, '.claude/settings.local.json'), 'utf8')).not.toContain('shadow')
    expect((await run(dir, data, ['--undo'])).status).toBe(0)
    expect(await treeOf(dir)).toEqual(first)
    expect(await readdir(join(data, 'init'))).toEqual([])
    expect((await run(dir, data, ['--undo'])).out).toBe('Nothing was written here.\n')
  })

  test('is in shadow unless it is set to enforce; what can fail closed does', async () => {
    const [dir, data] = [await folder(), await folder()]
    await run(dir, data, all)
    const read = async (path: string) => JSON.parse(await readFile(join(dir, path), 'utf8'))
    const codex = (await read('.codex/hooks.json')).hooks.PreToolUse[0].hooks[0]
    expect(codex.command).toBe(`node ${join(data, 'hook', 'cstp-hook.mjs')} codex --shadow --url http://127.0.0.1:9991`)
    await run(dir, data, [...all, '--enforce'], { CSTP_AGENT: 'ada', CSTP_TOKEN: 'ada-token-of-the-test' })
    const claude = (await read('.claude/settings.local.json')).hooks
    expect(claude.PreToolUse).toMatchObject([
      { matcher: '*', hooks: [{ type: 'http', url: 'http://127.0.0.1:9991/hooks/claude-code', onFailure: 'block' }] },
    ])
    expect(claude.SessionStart[0].hooks[0].type).toBe('command')
    // Codex and Gemini CLI run a call whose hook can't be started, unless its command ends so.
    const gates = [
      (await read('.codex/hooks.json')).hooks.PreToolUse,
      (await read('.gemini/settings.json')).hooks.BeforeTool,
    ]
    for (const [{ hooks }] of gates) expect(hooks[0].command).toEndWith(' || exit 2')
    expect((await read('.codex/hooks.json')).hooks.Stop[0].hooks[0].command).not.toContain('exit')
    expect((await read('.cursor/hooks.json')).hooks.preToolUse[0]).toMatchObject({ failClosed: true })
    // No token is written anywhere.
    for (const text of Object.values(await treeOf(dir)))
      expect(Buffer.from(text, 'base64').toString()).not.toContain('ada-token')
  })

  test('--shared names no path of this machine', async () => {
    const [dir, data] = [await folder(), await folder()]
    await run(dir, data, [...all, '--shared'])
    const tree = await treeOf(dir)
    expect(Object.keys(tree)).toContain('.cstp/cstp-hook.mjs')
    for (const [path, text] of Object.entries(tree)) {
      const shown = Buffer.from(text, 'base64').toString()
      expect([path, shown.includes(dir) || shown.includes(data)]).toEqual([path, false])
    }
    await run(dir, data, ['--undo', '--shared'])
    expect(await treeOf(dir)).toEqual({})
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

  test('cstp doctor says that a hook was written and no call received', async () => {
    const [dir, data] = [await folder(), await folder()]
    await chmod(data, 0o700)
    await run(dir, data, ['--client', 'codex'])
    const { out } = await cstp(['doctor'], bareEnv(data))
    expect(out).toContain('codex: hooks written')
    expect(out).toContain('no call received')
    expect(out).toContain('/hooks')
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
  const wiring = {
    shared: false,
    shadow: false,
    url: 'http://127.0.0.1:9991',
    data_dir: 'C:\\Users\\A B',
    env_token: false,
    windows: true,
  }
  const texts = editsOf(['codex', 'gemini', 'copilot'], wiring, '/shop').map(({ path, apply: text }) => [
    path,
    text(null),
  ])
  const written = Object.fromEntries(texts.map(([path, text]) => [path!.split('/')[2], text]))
  const of = (path: string, event: string) => JSON.parse(written[path]!).hooks[event][0]
  expect(of('.codex', 'PreToolUse').hooks[0].command).toMatch(
    /^node "C:\/Users\/A B\/hook\/cstp-hook.mjs" codex .* \|\| exit 2$/,
  )
  expect(of('.gemini', 'BeforeTool').hooks[0].command).toEndWith('; if (!$?) { exit 2 }')
  expect(of('.github', 'PreToolUse').powershell).toBe(of('.github', 'PreToolUse').bash)
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

test.each([false, true])(
  'the MCP server is in the settings of OpenCode as its schema wants it, shared %p',
  (shared) => {
    const wiring = {
      shared,
      shadow: true,
      url: 'http://127.0.0.1:9991',
      data_dir: '/data',
      env_token: false,
      windows: false,
    }
    const edit = editsOf(['opencode'], wiring, '/shop').find(({ path }) => path === '/shop/opencode.json')!
    const { mcp, ...rest } = JSON.parse(
      edit.apply('{"theme":"system","mcp":{"other":{"type":"local","command":["x"]}}}'),
    )
    expect([rest, Object.keys(mcp)]).toEqual([
      { $schema: 'https://opencode.ai/config.json', theme: 'system' },
      ['other', 'cstp'],
    ])
    const valid = new Ajv({ strict: false }).compile(opencodeServers)
    expect([valid(mcp.cstp), valid.errors]).toEqual([true, null])
    expect(valid({ ...mcp.cstp, args: [] })).toBe(false)
  },
)

test('every client that reads a file of its own for MCP servers gets the server there', () => {
  const wiring = { shadow: true, url: 'http://h:1', data_dir: '/data', env_token: false, windows: false }
  const of = (shared: boolean, path: string) => {
    const edits = editsOf(['gemini', 'cursor', 'claude-code'], { ...wiring, shared }, '/shop')
    return JSON.parse(edits.find((one) => one.path === `/shop/${path}`)!.apply(null)).mcpServers.cstp
  }
  const local = { command: 'cstp', args: ['mcp', '--url', 'http://h:1'] }
  for (const path of ['.gemini/settings.json', '.cursor/mcp.json', '.mcp.json']) expect(of(false, path)).toEqual(local)
  const [begin, url] = ['Bearer $', 'http://h:1/mcp']
  expect(of(true, '.gemini/settings.json')).toEqual({
    httpUrl: url,
    headers: { Authorization: `${begin}CSTP_AGENT:$CSTP_TOKEN` },
  })
  expect(of(true, '.cursor/mcp.json')).toEqual({
    url,
    headers: { Authorization: `${begin}{env:CSTP_AGENT}:$\{env:CSTP_TOKEN}` },
  })
  expect(of(true, '.mcp.json')).toEqual({
    type: 'http',
    url,
    headers: { Authorization: `${begin}{CSTP_AGENT:-local}:$\{CSTP_TOKEN}` },
  })
})

test('a run that is broken off has left what takes it back', async () => {
  const [dir, data] = [await folder(before), await folder()]
  const first = await treeOf(dir)
  const wiring = {
    shared: false,
    shadow: true,
    url: 'http://127.0.0.1:9991',
    data_dir: data,
    env_token: false,
    windows: false,
  }
  const edits = editsOf(['claude-code', 'gemini'], wiring, dir)
  await mkdir(join(dir, 'CLAUDE.md.d'))
  const broken = [...edits, { path: join(dir, 'CLAUDE.md.d'), apply: () => 'x', undo: () => null }]
  const manifest = { dir, clients: ['claude-code'], shadow: true, at: '2026-07-01T00:00:00Z' }
  await expect(apply(data, manifest, broken)).rejects.toThrow()
  await rm(join(dir, 'CLAUDE.md.d'), { recursive: true })
  await undo(data, dir, edits)
  expect(await treeOf(dir)).toEqual(first)
  expect(editJson(null, (root) => root)).toBe('{}\n')
})
