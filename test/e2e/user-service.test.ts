/** The service as one of the user's: what systemd and launchd read, and what install, uninstall and status do. */
import { expect, test } from 'bun:test'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readServiceFile } from '../../src/app/service-file.ts'
import { launchdService, systemdService, type Wanted } from '../../src/app/user-service.ts'
import { testNeeding } from '../support/needing.ts'
import { bareEnv, cstp, freePort, run, testDir, testService, until } from '../support/process.ts'

const wanted: Wanted = {
  data_dir: '/home/ann/my "data" 100%',
  command: ['/opt/a b/bun', '/srv/$x/main.ts'],
  env: { CSTP_PORT: '9992', CSTP_EMBEDDER: 'a%b "c" <d> & e' },
  home: '/home/ann',
  config: '/home/ann/.config',
  uid: 1000,
}

testNeeding('systemd-analyze', 'systemd accepts the unit, with names that it would expand', async () => {
  const dir = await testDir()
  const program = join(dir, 'a $b "c" 100% d')
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
  const { name, text, path } = systemdService({ ...wanted, command: [program, '/srv/$x/main.ts'] })
  expect(path).toMatch(/^\/home\/ann\/\.config\/systemd\/user\/cstp-[0-9a-f]{8}\.service$/)
  await writeFile(join(dir, name), text)
  const { status, err } = await run(['systemd-analyze', 'verify', '--user', join(dir, name)], {
    cwd: dir,
    env: { ...bareEnv(dir), XDG_RUNTIME_DIR: dir },
  })
  expect([status, err.split('\n').filter((line) => line.includes(name))]).toEqual([0, []])
  expect(systemdService({ ...wanted, data_dir: '/home/ann/.cstp' }).name).toBe('cstp.service')
})

test('the agent of launchd has every word as it is', () => {
  const { text, path, start, stop } = launchdService(wanted)
  expect(path).toMatch(/^\/home\/ann\/Library\/LaunchAgents\/dev\.cstp\.service-[0-9a-f]{8}\.plist$/)
  const words = [...text.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word]) =>
    word!.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
  )
  expect(words).toEqual(expect.arrayContaining([...wanted.command, 'serve', '--data-dir', wanted.data_dir]))
  expect(words).toContain(wanted.env.CSTP_EMBEDDER!)
  expect([start, stop]).toMatchObject([
    [['launchctl', 'bootstrap', 'gui/1000', path]],
    [['launchctl', 'bootout', expect.any(String)]],
  ])
})

/** A systemctl that notes its calls, since a container has no manager of the user. */
async function place(answer = 'exit 0') {
  const [data, bin] = [await testDir(), await testDir()]
  const notes = join(bin, 'calls')
  await writeFile(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> ${notes}\n${answer}\n`)
  await chmod(join(bin, 'systemctl'), 0o755)
  const env = bareEnv(data, { PATH: `${bin}:${process.env.PATH}`, CSTP_PORT: String(await freePort()) })
  return { data, env, calls: async () => (await Bun.file(notes).text()).trim().split('\n') }
}

if (process.platform === 'linux') {
  test('install takes the place of a service that runs, status tells both, uninstall leaves nothing', async () => {
    const { data, env, calls } = await place()
    const running = await testService({ ...env, CSTP_IDLE_EXIT: '1h' }, ['--port', env.CSTP_PORT!])
    await until('its file', async () => readServiceFile(data)?.pid != null)
    const pid = readServiceFile(data)!.pid!
    expect(await cstp(['service', 'status'], env)).toMatchObject({
      status: 0,
      out: expect.stringContaining('not installed'),
    })
    const { status, out } = await cstp(['service', 'install'], env)
    expect([status, out]).toEqual([0, expect.stringContaining('started    cstp-')])
    await until('its end', async () => !(await Bun.file(`/proc/${pid}/stat`).exists()))
    const name = /cstp-\w+\.service/.exec(out)![0]
    expect(await calls()).toEqual(['--user daemon-reload', `--user enable --now ${name}`])
    const path = join(data, '.config/systemd/user', name)
    const unit = await readFile(path, 'utf8')
    expect(unit).toContain(`"serve" "--data-dir" "${data}"`)
    expect(unit).toContain(`Environment="CSTP_PORT=${env.CSTP_PORT}"`)
    const shown = await cstp(['service', 'status', '--json'], env)
    expect([shown.status, JSON.parse(shown.out)]).toMatchObject([
      1,
      { installed: true, active: true, url: running.url, answers: false },
    ])
    expect(await cstp(['service', 'uninstall'], env)).toMatchObject({
      status: 0,
      out: `stopped    ${name}\nremoved    ${path}\n`,
    })
    expect(await Bun.file(path).exists()).toBe(false)
    expect(await cstp(['service', 'uninstall'], env)).toMatchObject({
      status: 1,
      err: expect.stringContaining('not installed'),
    })
  })

  test('without a manager, or with secrets in the environment, nothing is installed and the reason is one line', async () => {
    const { data, env } = await place('echo "Failed to connect to bus" >&2; exit 1')
    const { status, err } = await cstp(['service', 'install'], env)
    expect([status, err]).toEqual([1, expect.stringContaining('(Failed to connect to bus): nothing was installed')])
    expect(await Array.fromAsync(new Bun.Glob('.config/**/*.service').scan({ cwd: data, dot: true }))).toEqual([])
    const secret = await cstp(['service', 'install'], { ...env, CSTP_AUTH_TOKENS: 'ada:a-token-of-this-test' })
    expect([secret.status, secret.err]).toEqual([
      1,
      expect.stringContaining('CSTP_AUTH_TOKENS are secrets of the environment'),
    ])
    expect(secret.err).not.toContain('a-token-of-this-test')
  })
}
