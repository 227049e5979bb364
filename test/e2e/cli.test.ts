/** The command line as a person and a program use it, before there is a server: real processes, real files. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commands } from '../../src/cli/commands.ts'
import { commandHelp } from '../../src/cli/help.ts'
import { openTerminal } from '../../src/cli/terminal.ts'
import { whyLacking } from '../support/needing.ts'
import { bareEnv, cstp, root, run, serve, testDir } from '../support/process.ts'

// Each test starts several processes.
setDefaultTimeout(120_000)

describe('serve', () => {
  const whyNoCurl = whyLacking(['curl'])
  const pasting = whyNoCurl === null ? '' : ` (skipped: ${whyNoCurl})`
  test.skipIf(whyNoCurl !== null)(
    `prints a line that works when pasted, never the token, and stops cleanly${pasting}`,
    async () => {
      const home = await testDir()
      // A name that a shell would take apart.
      const dir = join(home, "it's here; really")
      const service = await serve(bareEnv(home, { CSTP_DATA_DIR: dir }))
      const token = (await readFile(join(dir, 'token'), 'utf8')).trim()
      expect(service.banner).toContain(dir)
      expect(service.banner).not.toContain(token)
      const lines = service.banner.split('\n').filter((one) => one.startsWith('curl '))
      expect(lines).toHaveLength(2)
      for (const [at, agent] of ['local', 'admin'].entries()) {
        expect(lines[at]).toContain(`Bearer ${agent}:$(cat `)
        const pasted = Bun.spawn(['sh', '-c', lines[at]!], { stdout: 'pipe' })
        expect(await new Response(pasted.stdout).json()).toMatchObject({
          jsonrpc: '2.0',
          id: 1,
          result: agent === 'local' ? { total: 0 } : { entries: [] },
        })
      }
      const { status, err } = await service.stop('SIGTERM')
      expect(status).toBe(0)
      expect(err).not.toContain(token)
      expect(await fetch(`${service.url}/health`).catch((error) => error.code)).toMatch(/refused/i)
    },
  )

  test('says where it is as one line of JSON, and stops at Ctrl-C', async () => {
    const dir = await testDir()
    const service = await serve(bareEnv(dir), ['--json'])
    expect(JSON.parse(service.banner)).toMatchObject({
      url: service.url,
      data_dir: dir,
      token_file: join(dir, 'token'),
      admin_token_file: join(dir, 'admin.token'),
    })
    expect((await service.stop('SIGINT')).status).toBe(0)
  })

  test('a taken port and a folder that is none are one clear line each', async () => {
    const dir = await testDir()
    const service = await serve(bareEnv(dir))
    const again = (data_dir: string) =>
      cstp(['serve', '--port', new URL(service.url).port, '--log-level', 'error'], bareEnv(data_dir))
    const [own, taken] = [await again(dir), await again(await testDir())]
    await service.stop()
    expect(own).toMatchObject({ status: 1, out: '' })
    expect(own.err).toMatch(/^cstp: the service of .+ runs already: use it at http:\S+, or stop it with: kill \d+\n$/)
    expect(taken).toMatchObject({ status: 1, out: '' })
    expect(taken.err).toMatch(/^cstp: can't listen on 127\.0\.0\.1:\d+ \(CSTP_HOST, CSTP_PORT\).*\n$/)
    const file = join(dir, 'file')
    await writeFile(file, '')
    const wrong = await cstp(['serve', '--port', '0', '--data-dir', file], bareEnv(dir))
    expect(wrong).toMatchObject({ status: 1, out: '' })
    expect(wrong.err).toMatch(/^cstp: .*file.*\n$/)
  })
})

describe('settings', () => {
  test('all wrong ones are named at once, by every command', async () => {
    const dir = await testDir()
    const env = bareEnv(dir, { CSTP_EMBEDDER: 'magic', CSTP_AUTH_TOKENS: 'only-an-agent', CSTP_LOG_LEVEL: 'loud' })
    for (const command of [['serve'], ['config'], ['query', 'x'], ['call', 'getStats', '--local']]) {
      const { status, err, out } = await cstp([...command, '--port', '70000'], env)
      expect({ status, out }).toEqual({ status: 2, out: '' })
      for (const part of [
        'CSTP_EMBEDDER (env',
        'CSTP_AUTH_TOKENS (env',
        'CSTP_LOG_LEVEL (env',
        'CSTP_PORT (flag --port)',
      ])
        expect(err).toContain(part)
      expect(err).not.toContain('only-an-agent')
    }
  })

  test('config shows values with their sources and masks secrets', async () => {
    const dir = await testDir()
    const file = join(dir, 'cstp.yaml')
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the notation of the file
    await writeFile(file, 'embedder:\n  api_key: ${SOME_KEY}\nserver:\n  rate_limit: 5\n')
    const env = bareEnv(dir, {
      SOME_KEY: 'top-secret',
      CSTP_AUTH_TOKENS: 'ann:hidden1-hidden1-hidden1,bob:hidden2-hidden2-hidden2',
      CSTP_ADMIN_AGENTS: 'ann',
      CSTP_CONFIG: file,
      COLUMNS: '200',
    })
    const shown = await cstp(['config', '--host', '0.0.0.0'], env)
    expect(shown.status).toBe(0)
    expect(shown.out).toMatch(/CSTP_AUTH_TOKENS +ann:\*\*\*\*,bob:\*\*\*\* +environment CSTP_AUTH_TOKENS/)
    expect(shown.out).toMatch(/CSTP_HOST +0\.0\.0\.0 +flag --host/)
    expect(shown.out).toMatch(/CSTP_PORT +9991 +default/)
    expect(shown.out).toMatch(/^ann +read write admin\nbob +read write$/m)
    const forPrograms = await cstp(['config', '--json'], env)
    expect(JSON.parse(forPrograms.out)).toMatchObject({
      embedding_api_key: { value: '****', source: `file ${file} (embedder.api_key)` },
      rate_limit: { value: 5 },
      port: { value: 9991, source: 'default', flag: '--port' },
      agents: [
        { agent: 'ann', scopes: ['read', 'write', 'admin'] },
        { agent: 'bob', scopes: ['read', 'write'] },
      ],
    })
    for (const secret of ['top-secret', 'hidden1', 'hidden2'])
      expect(shown.out + forPrograms.out + shown.err + forPrograms.err).not.toContain(secret)
  })
})

describe('help', () => {
  test('lists commands, explains each, and knows what was meant', async () => {
    const dir = await testDir()
    const env = bareEnv(dir)
    const overview = await cstp(['help'], env)
    expect(overview.status).toBe(0)
    const names = [...overview.out.matchAll(/^ {2}(\w+) {2,}\w/gm)].map(([, name]) => name!)
    expect(names).toEqual([
      'serve',
      'dashboard',
      'service',
      'mcp',
      'record',
      'query',
      'list',
      'show',
      'dossier',
      'review',
      'link',
      'unlink',
      'context',
      'call',
      'guardrails',
      'init',
      'hook',
      'gateway',
      'approvals',
      'token',
      'workspace',
      'audit',
      'verify',
      'import',
      'export',
      'reindex',
      'evidence',
      'log',
      'witness',
      'backup',
      'restore',
      'repair',
      'migrate',
      'doctor',
      'retention',
      'config',
      'docs',
      'licenses',
    ])
    const terminal = openTerminal({})
    for (const command of commands) {
      const out = await commandHelp(command, [], terminal)
      expect(out).toContain(`usage: cstp ${command.name}`)
      expect(out).toContain('examples:')
      expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(110)
    }
    expect((await cstp(['call', '--help'], env)).out).toContain('recordDecision')
    expect((await cstp(['help', 'settings'], env)).out).toContain('CSTP_DATA_DIR   data_dir in the YAML file')
    expect((await cstp(['--version'], env)).out).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(await cstp(['imprt', 'x'], env)).toMatchObject({
      status: 2,
      err: 'cstp: unknown command "imprt"; did you mean import? (cstp help lists them)\n',
    })
    expect(await cstp(['query', 'x', '--limt', '3'], env)).toMatchObject({
      status: 2,
      err: 'cstp: unknown flag --limt; did you mean --limit?\n',
    })
    expect(await cstp(['query', 'x', '--limit'], env)).toMatchObject({ status: 2 })
    expect(await cstp(['import'], env)).toMatchObject({ status: 2 })
    expect(await cstp([], env)).toMatchObject({ status: 2, out: overview.out })
  })
})

test('the demonstration shows ten answers and leaves nothing behind', async () => {
  const dir = await testDir()
  const { out, err, status } = await run(
    [process.execPath, join(root, 'docs/demo/demo.ts'), '--small', '--embedder', 'hash'],
    { cwd: root, env: { ...bareEnv(dir), TMPDIR: dir } },
  )
  expect({ status, err }).toEqual({ status: 0, err: '' })
  expect(out).toContain('26 decisions of a made-up web shop')
  expect(out.match(/^ ?\d+ {2}\S.*\?$/gm)).toHaveLength(10)
  expect(Math.max(...out.split('\n').map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(100)
  expect((await readdir(dir)).filter((name) => name.startsWith('cstp'))).toEqual([])
})
