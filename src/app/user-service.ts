/** The service of a data folder as a service of the user: the file of systemd or launchd, and the commands that switch it on and off. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { sha256Hex } from '../core/digest.ts'
import { readServiceFile } from './service-file.ts'

export interface UserService {
  /** Its name for the manager. */
  name: string
  /** The file that declares it, and its text. */
  path: string
  text: string
  /** Command lines. */
  start: string[][]
  stop: string[][]
  /** Ends with status 0 if the service runs. */
  isActive: string[]
}

/** What is run, and where. */
export interface Wanted {
  data_dir: string
  /** The program and its first arguments, by absolute paths. */
  command: readonly string[]
  /** Environment variables. */
  env: Readonly<Record<string, string>>
  home: string
  /** The folder of settings of the user, as XDG_CONFIG_HOME. */
  config: string
  /** The number of the user. */
  uid: number
}

/** A word in a unit: `%` and `$` would be expanded. */
const unitWord = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`

/** Two folders are two services. */
const suffixOf = (data_dir: string, home: string): string =>
  data_dir === join(home, '.cstp') ? '' : `-${sha256Hex(data_dir).slice(0, 8)}`

export function systemdService({ data_dir, command, env, home, config }: Wanted): UserService {
  const name = `cstp${suffixOf(data_dir, home)}.service`
  const line = [...command, 'serve', '--data-dir', data_dir].map((one) => unitWord(one).replaceAll('$', '$$$$'))
  // Over env, since systemd takes no quotation marks in the name of the program.
  const text = `[Unit]
Description=cstp: decision memory and policy service for software agents

[Service]
ExecStart=/usr/bin/env ${line.join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
${Object.entries(env)
  .map(([key, value]) => `Environment=${unitWord(`${key}=${value}`)}\n`)
  .join('')}Restart=on-failure
RestartSec=2
TimeoutStopSec=20

[Install]
WantedBy=default.target
`
  const systemctl = (...args: string[]) => ['systemctl', '--user', ...args]
  return {
    name,
    path: join(config, 'systemd', 'user', name),
    text,
    start: [systemctl('daemon-reload'), systemctl('enable', '--now', name)],
    stop: [systemctl('disable', '--now', name)],
    isActive: systemctl('is-active', '--quiet', name),
  }
}

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export function launchdService({ data_dir, command, env, home, uid }: Wanted): UserService {
  const name = `dev.cstp.service${suffixOf(data_dir, home)}`
  const path = join(home, 'Library', 'LaunchAgents', `${name}.plist`)
  const strings = [...command, 'serve', '--data-dir', data_dir].map((one) => `<string>${xml(one)}</string>`)
  const pairs = Object.entries(env).map(([key, value]) => `<key>${xml(key)}</key><string>${xml(value)}</string>`)
  const log = xml(join(data_dir, 'service.log'))
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${name}</string>
  <key>ProgramArguments</key><array>${strings.join('')}</array>
  <key>EnvironmentVariables</key><dict>${pairs.join('')}</dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>StandardOutPath</key><string>${log}</string>
  <key>StandardErrorPath</key><string>${log}</string>
</dict>
</plist>
`
  const domain = `gui/${uid}`
  return {
    name,
    path,
    text,
    start: [['launchctl', 'bootstrap', domain, path]],
    stop: [['launchctl', 'bootout', `${domain}/${name}`]],
    isActive: ['launchctl', 'print', `${domain}/${name}`],
  }
}

/** The service of this machine for a data folder; null on a system that has neither manager. */
export function userService(
  data_dir: string,
  command: readonly string[],
  env: Record<string, string | undefined>,
  platform: string = process.platform,
): UserService | null {
  const home = env.HOME || homedir()
  const wanted = {
    data_dir,
    command,
    env: readServiceFile(data_dir)?.env ?? {},
    home,
    config: env.XDG_CONFIG_HOME || join(home, '.config'),
    uid: process.getuid?.() ?? 0,
  }
  if (platform === 'linux') return systemdService(wanted)
  return platform === 'darwin' ? launchdService(wanted) : null
}
