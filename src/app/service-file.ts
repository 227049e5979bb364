/** `service.json` in a data folder: how its service is reached and started, for clients that start it when they need it. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { quoted, type ServiceFile } from '../../plugin/hooks/cstp-hook.mjs'
import { regularText, replaceFile } from '../core/disk.ts'
import { isCompiled, ownCommand } from '../drivers/shared/program.ts'
import { type Configuration, type SettingName, settings as table } from './config/config.ts'

export type { ServiceFile }
export { isCompiled, ownCommand }

const place = (data_dir: string): string => join(data_dir, 'service.json')

/** The file of a data folder; null if there is none. */
export function readServiceFile(data_dir: string): ServiceFile | null {
  try {
    return JSON.parse(readFileSync(place(data_dir), 'utf8')) as ServiceFile
  } catch {
    return null
  }
}

/** The service of a folder that runs at a port, as it noted; null if none does. */
export function runningAt(data_dir: string, port: number): { url: string; pid: number } | null {
  const { url, pid } = readServiceFile(data_dir) ?? {}
  return url !== undefined && pid != null && new URL(url).port === String(port) && isAlive(pid) ? { url, pid } : null
}

/** A script of a data folder that runs this program there: the name that people type. */
export const launcherOf = (data_dir: string): string => join(data_dir, 'bin', 'cstp')

/** Its last line. @param program by absolute paths */
export const launches = (program: readonly string[]): string => `exec ${program.map(quoted).join(' ')} "$@"\n`

/** A line of a shell that runs this program on a data folder; by its launcher, where `cstp init` wrote one that runs this program, and no other. */
export function commandLine(args: readonly string[], data_dir = join(homedir(), '.cstp')): string {
  const launcher = launcherOf(data_dir)
  const home = `${homedir()}/`
  if (regularText(launcher)?.endsWith(launches(ownCommand()))) {
    const short = launcher.startsWith(home) ? `~/${quoted(launcher.slice(home.length))}` : quoted(launcher)
    return [short, ...args.map(quoted)].join(' ')
  }
  const more = data_dir === join(homedir(), '.cstp') ? [] : ['--data-dir', data_dir]
  return [...ownCommand(), ...args, ...more].map(quoted).join(' ')
}

/** Settings that are passed by the service's own arguments, or that only say where it was called from. */
const ownArguments = new Set<SettingName>(['data_dir', 'idle_exit'])

/** The settings that were not read from a file, as environment variables; secrets by their names alone. */
function settingsOf({ settings, sources }: Configuration, env: Record<string, string | undefined>) {
  const own: Record<string, string> = {}
  const secrets: string[] = []
  for (const name of Object.keys(table) as SettingName[]) {
    const { env: variable, secret } = table[name]
    const value: unknown = settings[name]
    if (!/^(?:environment|flag)/.test(sources[name]) || ownArguments.has(name)) continue
    if (secret) secrets.push(variable)
    else if (Array.isArray(value)) own[variable] = value.join(name === 'guardrails_paths' ? ':' : ',')
    else if (value !== null && typeof value === 'object') own[variable] = env[variable] ?? ''
    else if (value !== null) own[variable] = String(value)
  }
  if (env.CSTP_CONFIG) own.CSTP_CONFIG = resolve(env.CSTP_CONFIG)
  return { env: own, secrets }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const write = (data_dir: string, file: ServiceFile) =>
  replaceFile(place(data_dir), `${JSON.stringify(file, null, 2)}\n`)

/** Notes how the service is started, for `cstp init`: what a service that runs or ran has noted stays. */
export async function noteCommand(
  configuration: Configuration,
  url: string,
  env: Record<string, string | undefined>,
): Promise<void> {
  const { data_dir } = configuration.settings
  const known = readServiceFile(data_dir)
  const own = settingsOf(configuration, env)
  const runs = known?.pid != null && isAlive(known.pid)
  await write(data_dir, {
    pid: null,
    started_at: null,
    stopped_at: null,
    ...known,
    url: runs ? known.url : url,
    command: ownCommand(),
    env: { ...known?.env, ...own.env },
    secrets: [...new Set([...(known?.secrets ?? []), ...own.secrets])],
  })
}

/**
 * Notes that this process serves the folder. Returns a function that notes its end.
 * @param on_demand whether a client started it; then command and settings stay those that the folder was set up with
 */
export async function noteService(
  configuration: Configuration,
  url: string,
  env: Record<string, string | undefined>,
  on_demand: boolean,
): Promise<() => Promise<void>> {
  const { data_dir } = configuration.settings
  const known = on_demand ? readServiceFile(data_dir) : null
  const started = { url, pid: process.pid, started_at: new Date().toISOString(), stopped_at: null }
  await write(data_dir, { ...(known ?? { command: ownCommand(), ...settingsOf(configuration, env) }), ...started })
  rmSync(join(data_dir, 'service.down'), { force: true })
  return async () => {
    const now = readServiceFile(data_dir)
    // Another process of the same folder may have started since; and the folder may be gone.
    if (now?.pid !== process.pid || !existsSync(data_dir)) return
    await write(data_dir, { ...now, pid: null, stopped_at: new Date().toISOString() })
  }
}
