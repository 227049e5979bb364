/** cstp service: keeps the service running as a service of the user, with systemd or launchd. */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { noteCommand, ownCommand, readServiceFile } from '../app/service-file.ts'
import { type UserService, userService } from '../app/user-service.ts'
import { defineCommand, type Run } from './command.ts'
import { Failure } from './failure.ts'
import { addressOf } from './remote.ts'
import { plain, print } from './terminal.ts'

/** How long a service that ends may take. */
const stopMs = 20_000

function call(line: readonly string[], env: Run['env']): { ok: boolean; said: string } {
  try {
    const { exitCode, stderr } = Bun.spawnSync([...line], { env, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
    return { ok: exitCode === 0, said: stderr.toString().trim().split('\n').at(-1) ?? '' }
  } catch (error) {
    return { ok: false, said: (error as Error).message }
  }
}

async function serviceOf(run: Run): Promise<{ service: UserService; data_dir: string }> {
  const configuration = await run.configuration()
  const data_dir = resolve(configuration.settings.data_dir)
  const service = userService(data_dir, ownCommand(), run.env)
  if (service === null)
    throw new Failure(
      `there is no systemd or launchd on ${process.platform}: clients start the service when they need it`,
    )
  return { service, data_dir }
}

/** Ends a service of the folder that a client or a person started, so that its address is free. */
async function endOther(data_dir: string): Promise<void> {
  const pid = readServiceFile(data_dir)?.pid
  if (!pid) return
  const isAlive = (signal: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(pid, signal)
    } catch {
      return false
    }
  }
  isAlive('SIGTERM')
  for (const end = Date.now() + stopMs; isAlive(0); await Bun.sleep(50))
    if (Date.now() > end) throw new Failure(`the service that runs now (process ${pid}) does not end`)
}

const install = defineCommand({
  name: 'service install',
  summary: 'Start it now and at each login.',
  about: [
    'Writes a unit of systemd --user or an agent of launchd, with the settings of the data directory, and starts it. A service that a client started ends first. On Linux, loginctl enable-linger keeps it after you log out.',
  ],
  examples: [['cstp service install', 'a service that is always there']],
  async run(run) {
    const configuration = await run.configuration()
    await noteCommand(configuration, addressOf(undefined, configuration), run.env)
    const { service, data_dir } = await serviceOf(run)
    const { secrets } = readServiceFile(data_dir)!
    if (secrets.length > 0)
      throw new Failure(
        `${secrets.join(', ')} are secrets of the environment, which are not written down: put them into a settings file (CSTP_CONFIG)`,
      )
    await endOther(data_dir)
    await mkdir(dirname(service.path), { recursive: true })
    await writeFile(service.path, service.text)
    for (const line of service.start) {
      const { ok, said } = call(line, run.env)
      if (ok) continue
      await rm(service.path, { force: true })
      throw new Failure(
        `${line.join(' ')} failed (${said}): nothing was installed; clients start the service when they need it`,
      )
    }
    await print(
      run,
      { name: service.name, path: service.path },
      () => `installed  ${plain(service.path)}\nstarted    ${service.name}\n`,
    )
  },
})

const uninstall = defineCommand({
  name: 'service uninstall',
  summary: 'Stop it, and remove what install wrote.',
  about: ['The data stays. Clients start the service when they need it.'],
  examples: [['cstp service uninstall', 'as before']],
  async run(run) {
    const { service } = await serviceOf(run)
    const { path, name } = service
    if (!existsSync(path)) throw new Failure(`${path} does not exist: the service is not installed`)
    for (const line of service.stop) call(line, run.env)
    await rm(path)
    await print(run, { name, path }, () => `stopped    ${name}\nremoved    ${plain(path)}\n`)
  },
})

const status = defineCommand({
  name: 'service status',
  summary: 'Show whether it is installed, and whether it answers.',
  about: ['The exit status is 1 if nothing answers at its address.'],
  examples: [['cstp service status --json', 'for a program']],
  async run(run) {
    const { service, data_dir } = await serviceOf(run)
    const installed = existsSync(service.path)
    const active = installed && call(service.isActive, run.env).ok
    const { url = null, pid = null, stopped_at = null } = readServiceFile(data_dir) ?? {}
    const answers =
      url !== null &&
      (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
        ({ ok }) => ok,
        () => false,
      ))
    const found = { name: service.name, path: service.path, installed, active, url, answers, pid: answers ? pid : null }
    await print(run, found, () =>
      [
        `service    ${installed ? `${service.name}, ${active ? 'active' : 'not active'}` : 'not installed'}`,
        `address    ${url === null ? 'never started' : answers ? `${url}, answers` : `${url}, down${stopped_at ? ` since ${stopped_at}` : ''}`}`,
        '',
      ].join('\n'),
    )
    return answers ? 0 : 1
  },
})

export const service = defineCommand({
  name: 'service',
  summary: 'Keep the service running, with systemd or launchd.',
  about: [
    'Not needed on one machine: clients start the service when they need it. A service that is installed does not end when idle.',
  ],
  verbs: [install, uninstall, status],
  examples: [['cstp service install', 'start it now and at each login']],
})
