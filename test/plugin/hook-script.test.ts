/** The script that clients run for their hooks, under Node: answers, exit statuses, the spool, what it knows of the repository. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repositoryAt, surroundings } from '../../plugin/hooks/cstp-hook.mjs'
import { agentsOf, parseTokens } from '../../src/core/caller.ts'
import { openSignatures } from '../../src/core/signed.ts'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, cstp, freePort, root, run } from '../support/process.ts'
import { type Running, startServing, tokens } from '../support/serving.ts'
import { overProgram, lines as peerLines } from '../surfaces/mcp/peers.ts'

const node = Bun.which('node')
const script = join(root, 'plugin/hooks/cstp-hook.mjs')
const rules = `
- id: no-force
  action: block
  conditions: [{ type: field, field: context.command, operator: contains, value: push --force, when_missing: no_match }]
  message: No forced pushes
`

let running: Running
let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cstp-hook-'))
  await writeFile(join(dir, 'rules.yaml'), rules)
  running = await startServing({ GUARDRAILS_PATHS: dir, CSTP_PACKS: 'none' })
})
afterAll(async () => {
  await running.stop()
  await rm(dir, { recursive: true, force: true })
})

const ada = () => ({ ...bareEnv(dir), CSTP_AGENT: 'ada', CSTP_TOKEN: tokens.ada.split(':')[1]!, CSTP_URL: running.url })
const body = (hook_event_name: string, more: object = {}) =>
  JSON.stringify({ session_id: 's1', cwd: dir, hook_event_name, tool_use_id: 't1', ...more })
const shell = (command: string) => ({ tool_name: 'Bash', tool_input: { command } })

/** What runs the script: Bun where it is, else Node. */
const runtimes: [name: string, program: string][] = [
  ...(node === null ? [] : [['Node', node] as [string, string]]),
  ['Bun', process.execPath],
]
if (node === null) test.skip('there is no Node here', () => {})
test('an input that never ends is stopped before the client gives up', async () => {
  const ends = runtimes.map(async ([, program]) => {
    const pipes = { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' } as const
    const process = Bun.spawn([program, script, 'codex'], { cwd: dir, env: ada(), ...pipes })
    process.stdin.write('{"hook_event_name":"PreToolUse"')
    process.stdin.flush()
    expect(await process.exited).toBe(2)
    expect(await new Response(process.stderr).text()).toStartWith('cstp: ')
  })
  await Promise.all(ends)
})

for (const [name, program] of runtimes)
  describe(`cstp-hook.mjs with ${name}`, () => {
    const hook = (args: string[], input: string, env: Record<string, string> = ada()) =>
      run([program, script, ...args], { cwd: dir, env, input })

    test('silence for an allowed call, the denial of the client for a blocked one', async () => {
      expect(await hook(['codex'], body('PreToolUse', shell('ls')))).toEqual({ status: 0, out: '', err: '' })
      const { status, out } = await hook(['codex'], body('PreToolUse', shell('git push --force')))
      expect([status, JSON.parse(out)]).toMatchObject([0, { hookSpecificOutput: { permissionDecision: 'deny' } }])
      expect(await hook(['codex', '--shadow'], body('PreToolUse', shell('git push --force')))).toEqual({
        status: 0,
        out: '',
        err: '',
      })
    })

    test('a call that can’t be judged is stopped; another event is not, nor is anything in shadow', async () => {
      const down = { ...ada(), CSTP_URL: `http://127.0.0.1:${await freePort()}` }
      const call = body('PreToolUse', shell('ls'))
      expect(await hook(['codex'], call, down)).toMatchObject({
        status: 2,
        out: '',
        err: expect.stringMatching(
          /^cstp can't judge this call, so it was not run: the cstp service at \S+ is down since \S+ .*; this starts it: .+\n$/,
        ),
      })
      expect(await hook(['gemini'], body('BeforeTool', shell('ls')), down)).toMatchObject({ status: 2 })
      expect(await hook(['codex'], 'no json', down)).toMatchObject({ status: 2 })
      expect(await hook(['codex'], body('Stop'), down)).toMatchObject({ status: 1, out: '' })
      expect(await hook(['codex', '--shadow'], call, down)).toEqual({ status: 0, out: '', err: '' })
      // In guard mode, what only reads goes on; a secret is no such thing, nor is anything when all rules are enforced.
      const reading = (file_path: string) => body('PreToolUse', { tool_name: 'Read', tool_input: { file_path } })
      expect(await hook(['codex', '--guard'], reading('src/a.ts'), down)).toEqual({ status: 0, out: '', err: '' })
      for (const [flag, event] of [
        ['--guard', call],
        ['--guard', reading('/home/ann/.ssh/id_ed25519')],
        ['--url=http://127.0.0.1:1', reading('src/a.ts')],
      ] as const)
        expect(await hook(['codex', flag], event, down)).toMatchObject({ status: 2 })
      const { status, out } = await hook(['copilot'], call, down)
      expect([status, JSON.parse(out)]).toMatchObject([0, { permissionDecision: 'deny' }])
      const wrong = { ...ada(), CSTP_TOKEN: 'not-the-token-of-ada' }
      expect(await hook(['codex'], call, wrong)).toMatchObject({ status: 2, err: expect.stringContaining('401') })
    })

    test('a proxy of the environment does not get what is for this machine', async () => {
      const proxy = { HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1' }
      const answer = await hook(['codex'], body('PreToolUse', shell('ls')), { ...ada(), ...proxy })
      expect(answer).toEqual({ status: 0, out: '', err: '' })
    })

    test('with --fail-open it goes on, and what was not sent is sent when the server answers again', async () => {
      const down = { ...ada(), CSTP_URL: `http://127.0.0.1:${await freePort()}` }
      const late = JSON.parse(body('PostToolUse', { ...shell('ls'), tool_response: 'x' }))
      const spool = join(dir, 'hook-spool.jsonl')
      const sent = JSON.stringify({ ...late, session_id: 'late' })
      expect(await hook(['codex', '--fail-open'], sent, down)).toEqual({ status: 0, out: '', err: '' })
      expect((await stat(spool)).mode & 0o777).toBe(0o600)
      expect(await hook(['codex', '--fail-open'], body('SessionStart'))).toMatchObject({ status: 0 })
      expect(await Bun.file(spool).exists()).toBe(false)
      const { sessions } = (await running.call('listSessions', {}, 'ada')) as { sessions: object[] }
      expect(sessions).toContainEqual(expect.objectContaining({ session_id: 'late', actions: 1 }))
    })

    test('a torn line of the spool is left out and reported; the others are sent once', async () => {
      const spool = join(dir, 'hook-spool.jsonl')
      const line = (session_id: string) =>
        JSON.stringify({
          client: 'codex',
          query: {},
          body: body('PostToolUse', { ...shell('ls'), session_id, tool_response: 'x' }),
        })
      await writeFile(spool, `${line('before')}\n${line('torn').slice(0, 40)}\n[]\n${line('after')}\n`)
      const { status, err } = await hook(['codex', '--fail-open'], body('SessionStart'))
      expect([status, err]).toEqual([0, `cstp: 2 unusable lines of ${spool} were left out\n`])
      expect(await Array.fromAsync(new Bun.Glob('hook-spool*').scan({ cwd: dir }))).toEqual([])
      const { sessions } = (await running.call('listSessions', {}, 'ada')) as { sessions: { session_id: string }[] }
      expect(sessions.filter(({ session_id }) => ['before', 'after'].includes(session_id))).toHaveLength(2)
    })

    test('lines that the server refuses are left out; those that it did not answer stay in the spool', async () => {
      const spool = join(dir, 'hook-spool.jsonl')
      const line = (session_id: string, client = 'codex') =>
        JSON.stringify({ client, query: {}, body: body('Stop', { session_id }) })
      let answered = 0
      const server = Bun.serve({
        port: 0,
        fetch(request) {
          const [name = '', token = ''] = tokens.ada.split(':')
          const signatures = openSignatures(() => agentsOf(parseTokens([{ agent: name, token }])), Date.now)
          expect(signatures.caller(request)?.agent).toBe('ada')
          const answer = (text: string, status: number) =>
            signatures.prove(request, new Response(text, { status, headers: { 'content-type': 'application/json' } }))
          if (request.url.includes('no-such-client')) return answer('unknown client', 404)
          return answered++ < 2 ? answer('{}', 200) : answer('restarting', 503)
        },
      })
      await writeFile(spool, [line('refused', 'no-such-client'), line('sent'), line('kept'), line('behind')].join('\n'))
      const env = { ...ada(), CSTP_URL: server.url.origin }
      expect(await hook(['codex'], body('SessionStart'), env)).toMatchObject({ status: 0 })
      await server.stop(true)
      const kept = (await readFile(`${spool}.sending`, 'utf8')).trim().split('\n')
      expect(kept).toEqual([line('kept'), line('behind')])
      await rm(`${spool}.sending`)
    })

    test.each([
      [
        'a FIFO as .git/HEAD',
        async (at: string) => void (await run(['mkfifo', join(at, '.git/HEAD')], { cwd: at, env: bareEnv(at) })),
      ],
      [
        'a FIFO as .git',
        async (at: string) => {
          await rm(join(at, '.git'), { recursive: true })
          await run(['mkfifo', join(at, '.git')], { cwd: at, env: bareEnv(at) })
        },
      ],
      [
        'a FIFO as .git/config',
        async (at: string) => void (await run(['mkfifo', join(at, '.git/config')], { cwd: at, env: bareEnv(at) })),
      ],
      [
        '200 000 blank lines in .git/config',
        (at: string) => writeFile(join(at, '.git/config'), `[remote "origin"]${'\n'.repeat(200_000)}`),
      ],
      [
        'a section of 60 KB of spaces',
        (at: string) => writeFile(join(at, '.git/config'), `[remote "origin"]\n${' '.repeat(60_000)}x`),
      ],
      ['a link to an endless device', (at: string) => symlink('/dev/zero', join(at, '.git/HEAD'))],
    ])('a repository with %s changes nothing: what is denied stays denied', async (_name, spoil) => {
      const at = await mkdtemp(join(dir, 'hostile-'))
      await mkdir(join(at, '.git'))
      await spoil(at)
      const { status, out } = await hook(['codex'], body('PreToolUse', { ...shell('git push --force'), cwd: at }))
      expect([status, JSON.parse(out)]).toMatchObject([0, { hookSpecificOutput: { permissionDecision: 'deny' } }])
    })

    test.each([
      ['allows everything', () => Response.json({})],
      [
        'answers with an allow of the client',
        () => Response.json({ hookSpecificOutput: { permissionDecision: 'allow' } }),
      ],
      ['makes up a proof', () => Response.json({}, { headers: { 'cstp-proof': 'a'.repeat(64) } })],
      [
        'repeats what it was sent',
        (given: Request) =>
          Response.json(
            {},
            { headers: { 'cstp-proof': /\w{64}$/.exec(given.headers.get('authorization') ?? '')![0] } },
          ),
      ],
      ['redirects', () => Response.redirect(running.url)],
    ])('another program on the port that %s gets no token and allows nothing', async (_name, answer) => {
      let seen = ''
      const server = Bun.serve({
        port: 0,
        async fetch(request) {
          seen += JSON.stringify([request.url, [...request.headers], await request.text()])
          return answer(request)
        },
      })
      const env = { ...ada(), CSTP_URL: server.url.origin }
      for (const flags of [[], ['--guard']])
        expect(await hook(['codex', ...flags], body('PreToolUse', shell('ls')), env)).toEqual({
          status: 2,
          out: '',
          err: expect.stringContaining(`another program answers at ${server.url.origin}`),
        })
      const [agent, token] = tokens.ada.split(':')
      const args = ['list', '--url', server.url.origin, '--agent', agent!, '--token', token!]
      expect(await cstp(args, bareEnv(dir))).toMatchObject({
        status: 1,
        err: expect.stringContaining('another program answers'),
      })
      await server.stop(true)
      expect(seen).toContain('ls')
      expect(seen).not.toContain(token!)
    })

    test.each(['HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{}', 'HTTP/1.1 200 OK\r\n', 'no HTTP', ''])(
      'an answer of this port that is cut short or unreadable, %p, allows nothing',
      async (answer) => {
        const server = Bun.listen({
          hostname: '127.0.0.1',
          port: 0,
          socket: { data: (socket) => void socket.end(answer) },
        })
        const env = { ...ada(), CSTP_URL: `http://127.0.0.1:${server.port}` }
        expect(await hook(['codex'], body('PreToolUse', shell('ls')), env)).toMatchObject({ status: 2, out: '' })
        server.stop(true)
      },
    )

    test('a service of another data folder is named, and gets no token', async () => {
      const env = { ...ada(), CSTP_TOKEN: 'the-token-of-another-folder' }
      const { status, err } = await hook(['codex'], body('PreToolUse', shell('ls')), env)
      expect([status, err]).toEqual([2, expect.stringContaining('it is the service of another data folder (401)')])
      expect(running.lines()).not.toContain('the-token-of-another-folder')
    })

    test('cstp hook does the same, and cstp hook report shows what was stopped', async () => {
      const call = body('PreToolUse', shell('git push --force origin'))
      const { status, out } = await cstp(['hook', 'codex'], ada(), call)
      expect([status, JSON.parse(out)]).toMatchObject([0, { hookSpecificOutput: { permissionDecision: 'deny' } }])
      const down = { ...ada(), CSTP_URL: `http://127.0.0.1:${await freePort()}` }
      expect(await cstp(['hook', 'codex'], down, call)).toMatchObject({ status: 2 })
      const [agent, token] = tokens.root.split(':')
      const report = await cstp(
        ['hook', 'report', '--json', '--url', running.url, '--agent', agent!, '--token', token!],
        bareEnv(dir),
      )
      const lines = report.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines).toContainEqual(
        expect.objectContaining({
          client: 'codex',
          agent: 'ada',
          shadow: false,
          rules: ['no-force'],
          input: { command: 'git push --force origin' },
        }),
      )
      expect(lines).toContainEqual(expect.objectContaining({ shadow: true, rules: ['no-force'] }))
    })
  })

test('the script in the binary is the one in the plugin', async () => {
  const { source } = await import('../../src/app/init/hook-script.gen.ts')
  expect(source).toBe(await readFile(script, 'utf8'))
})

testNeeding('git', 'project and branch are those of the repository, in a folder of it and in a worktree', async () => {
  const shop = join(dir, 'shop')
  const git = async (...args: string[]) => {
    const { status, err } = await run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: shop,
      env: bareEnv(dir),
    })
    expect([status, err]).toEqual([0, expect.anything()])
  }
  await mkdir(join(shop, 'src'), { recursive: true })
  await git('init', '-q', '-b', 'main')
  expect(repositoryAt(shop)).toEqual({ branch: 'main' })
  await git('remote', 'add', 'origin', 'git@github.com:acme/shop.git')
  expect(repositoryAt(join(shop, 'src'))).toEqual({ project: 'acme/shop', branch: 'main' })
  await git('commit', '-q', '--allow-empty', '-m', 'x')
  await git('worktree', 'add', '-q', '-b', 'fix/1', join(dir, 'tree'))
  expect(repositoryAt(join(dir, 'tree'))).toEqual({ project: 'acme/shop', branch: 'fix/1' })
  expect(repositoryAt('/')).toEqual({})
  await git('config', '--add', 'remote.other.url', 'git@github.com:acme/other.git')
  await git('config', 'remote.origin.url', 'https://github.com/acme/books')
  expect(repositoryAt(shop)).toEqual({ project: 'acme/books', branch: 'main' })
})

test('the root of a project is that of its repository; a home folder that is a repository is none', async () => {
  const home = await mkdtemp(join(dir, 'home-'))
  const app = join(home, 'app')
  await mkdir(join(home, '.git'))
  await mkdir(join(app, 'packages/a'), { recursive: true })
  expect(surroundings({}, join(app, 'packages/a'), home)).toEqual({})
  await mkdir(join(app, '.git'))
  expect(surroundings({}, join(app, 'packages/a'), home)).toEqual({ project_dir: app })
  expect(surroundings({}, home, home)).toEqual({})
})

test('the text of a script goes along if it is about to be run, small, a regular file, and inside the project', async () => {
  const app = await mkdtemp(join(dir, 'app-'))
  await mkdir(join(app, '.git'))
  await mkdir(join(app, 'sub'))
  await writeFile(join(app, 'sub/x.sh'), 'rm -rf ~')
  await writeFile(join(app, 'big.sh'), 'x'.repeat(65_537))
  await writeFile(join(app, 'bin.sh'), 'a\0b')
  await symlink('/etc/passwd', join(app, 'out.sh'))
  await symlink('/dev/zero', join(app, 'zero.sh'))
  await run(['mkfifo', join(app, 'fifo.sh')], { cwd: app, env: bareEnv(app) })
  const found = (command: unknown) => surroundings({ tool_input: { command } }, app).script_path ?? null
  for (const line of [
    'sub/x.sh',
    './sub/x.sh a b',
    'bash -e sub/x.sh',
    'cd sub && ./x.sh',
    'ls; A=1 sudo timeout 5 sh "sub/x.sh"',
    '. ./sub/x.sh',
    `${app}/sub/x.sh`,
    ['bash', 'sub/x.sh'],
  ])
    expect([line, found(line)]).toEqual([line, join(app, 'sub/x.sh')])
  for (const line of [
    'cat sub/x.sh',
    'bash big.sh',
    'bash bin.sh',
    'bash out.sh',
    'bash zero.sh',
    'bash fifo.sh',
    'bash none.sh',
    7,
  ])
    expect([line, found(line)]).toEqual([line, null])
  expect(surroundings({ toolArgs: '{"command":"bash sub/x.sh"}' }, app).script_text).toBe('rm -rf ~')
})

test('the rule files of a repository go along, of which one that is not in it has no text', async () => {
  const app = await mkdtemp(join(dir, 'app-'))
  const folder = join(app, '.cstp/guardrails')
  await mkdir(join(app, '.git'))
  expect(surroundings({}, app)).toEqual({ project_dir: app })
  await mkdir(folder, { recursive: true })
  expect(surroundings({}, app)).toEqual({ project_dir: app })
  await writeFile(join(folder, 'a.yaml'), '[]')
  await writeFile(join(folder, 'a.test.yaml'), '[]')
  await writeFile(join(folder, 'README.md'), 'x')
  await writeFile(join(folder, 'b.yml'), 'x'.repeat(65_537))
  await symlink('/etc/passwd', join(folder, 'c.yaml'))
  await run(['mkfifo', join(folder, 'd.yaml')], { cwd: app, env: bareEnv(app) })
  expect(surroundings({}, app).project_rules).toEqual([
    { file: 'a.yaml', text: '[]' },
    ...['b.yml', 'c.yaml', 'd.yaml'].map((file) => ({ file, text: null })),
  ])
})

test.each(peerLines)(
  'a clone without cstp has an MCP server with no tools, which says how to join: %s',
  async (line) => {
    const home = await mkdtemp(join(dir, 'home-'))
    const peer = await overProgram(line, { command: node!, args: [script, 'mcp'], env: bareEnv(home), cwd: home })
    try {
      expect(peer.getInstructions()).toContain('run cstp init')
      expect((await peer.listTools()).tools).toEqual([])
    } finally {
      await peer.close()
    }
  },
)

test('an MCP server whose program is gone says so, in place of an end', async () => {
  const home = await mkdtemp(join(dir, 'home-'))
  await writeFile(
    join(home, 'service.json'),
    JSON.stringify({ url: 'http://127.0.0.1:1', command: [join(home, 'gone')] }),
  )
  const args = [script, 'mcp', '--data-dir', home]
  const peer = await overProgram('v1', { command: node!, args, env: bareEnv(home), cwd: home })
  try {
    expect(peer.getInstructions()).toContain("its program can't be started")
    expect((await peer.listTools()).tools).toEqual([])
  } finally {
    await peer.close()
  }
})
