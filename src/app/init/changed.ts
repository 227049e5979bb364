/** Compares the files of a client with what `cstp init` wrote: for the doctor, and at the start of each session. */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { sha256Hex } from '../../core/digest.ts'
import { regularText } from '../../core/disk.ts'
import { messageOf } from '../../core/log.ts'
import { plainText, quoted } from '../../core/quote.ts'
import { error, type Finding, warning } from '../doctor/finding.ts'
import { commandLine } from '../service-file.ts'
import { type Manifest, manifestOf } from './apply.ts'
import { type Edit, filesOf } from './clients.ts'
import { type Connection, connectionOf, modeOf, switchesOf, switchFiles } from './connection.ts'
import { source as script } from './hook-script.gen.ts'
import { clientNames, type InitClient, modeFlag, scriptPath, type Wiring } from './wiring.ts'

/** The line that connects a client once more, in the same way. */
export function againLine(
  client: InitClient,
  { mode, shared, required, gateway, url, data_dir }: Wiring,
  dir: string,
): string {
  const flags = [...(mode === 'guard' ? [] : modeFlag(mode)), ...(mode === 'enforce' ? ['--enforce'] : [])]
  const more = [
    ...(shared ? ['--shared'] : []),
    ...(required ? ['--required'] : []),
    ...(gateway ? ['--gateway'] : []),
    ...(url ? ['--url', url] : []),
  ]
  return commandLine(['init', '--dir', dir, '--client', client, ...flags, ...more], data_dir)
}

/** False also for what can't be read, or is something else than a file. */
function isTrue(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

/** What of a client's files is not as init would write it. @param isKept whether a file is as init wrote it, perhaps of an earlier version */
export function* changed(
  client: InitClient,
  wiring: Wiring,
  dir: string,
  found: Connection,
  isKept: (path: string) => boolean = () => false,
): Generator<Finding> {
  const isIntact = ({ path, apply }: Edit): boolean =>
    isTrue(() => {
      const text = regularText(path)
      return text !== null && (isKept(path) || apply(text) === text)
    })
  const again = againLine(client, wiring, dir)
  const name = clientNames[client]
  for (const { path, why } of found.unreadable)
    yield error(`${name} can’t read ${path}: ${why}`, `correct it, then ${again}`)
  for (const { path, setting } of switchesOf(client, dir, homedir()))
    yield error(`${name} runs no hook of ours: ${setting} in ${path}`, `take ${setting} out of ${path}`)
  if (found.unreadable.length > 0) return
  const path = scriptPath(wiring, dir)
  const { hooks, server, names } = filesOf(client, wiring, dir)
  if (wiring.runtime !== null && !wiring.shared && !existsSync(wiring.runtime))
    yield error(`${name}: its hooks run ${wiring.runtime}, which is gone`, again)
  const lacking = wiring.shared ? undefined : wiring.program.find((part) => !part.startsWith('--') && !existsSync(part))
  if (lacking !== undefined) yield error(`${name}: its commands run ${lacking}, which is gone`, again)
  if (wiring.runtime !== null) {
    if (!existsSync(path)) yield error(`${name}: its hook script ${path} is gone`, again)
    // That of a repository may be of the version that its owner has.
    else if (!isTrue(() => regularText(path) === script || isKept(path)))
      yield (wiring.shared ? warning : error)(`${name}: its hook script ${path} is not the one of this version`, again)
  }
  const mode = modeOf(found.hook)
  if (mode === null)
    yield error(
      `${name}: there is no hook of ours in ${hooks.path}${names ? `, or ${names.path} names no plugin` : ''}`,
      again,
    )
  else if (mode !== wiring.mode)
    yield error(`${name}: its hooks run in mode ${mode}, and were set up in mode ${wiring.mode} (${hooks.path})`, again)
  else if (!isIntact(hooks)) yield error(`${name}: hooks were removed or changed in ${hooks.path}`, again)
  if (found.server === null) yield error(`${name}: there is no MCP server cstp in ${server.path}`, again)
  else if (server.path !== hooks.path && !isIntact(server))
    yield error(`${name}: the MCP server cstp was changed in ${server.path}`, again)
}

/** Larger files are not compared at the start of a session, which would hold up the service. */
const maxBytes = 262_144
const maxFolders = 32

async function firstIn(manifest: Manifest, data_dir: string): Promise<Finding | null> {
  const { dir, wirings, files } = manifest
  const isKept = (path: string) =>
    files.some((one) => one.path === path && one.written === sha256Hex(regularText(path) ?? ''))
  for (const [name, wiring] of Object.entries(wirings)) {
    if (wiring.data_dir !== data_dir) continue
    const client = name as InitClient
    const edited = Object.values(filesOf(client, wiring, dir)).map(({ path }) => path)
    for (const path of [scriptPath(wiring, dir), ...edited, ...switchFiles(client, dir, homedir())])
      if (((await stat(path).catch(() => null))?.size ?? 0) > maxBytes)
        return error(
          `${path} is larger than ${maxBytes / 1_024} KiB and was not compared`,
          `make it smaller; until then ${commandLine(['doctor'], data_dir)} compares it`,
        )
    const found = [...changed(client, wiring, dir, connectionOf(client, wiring, dir), isKept)]
    const first = found.find(({ severity }) => severity === 'error')
    if (first) return first
  }
  return null
}

async function firstAbove(data_dir: string, cwd: string): Promise<Finding | null> {
  for (let dir = resolve(cwd), left = maxFolders; left > 0; dir = dirname(dir), left--) {
    const manifest = await manifestOf(data_dir, dir)
    const found = manifest && (await firstIn(manifest, data_dir))
    if (found || dir === dirname(dir)) return found
  }
  return null
}

/** A sentence if what `cstp init` wrote for a folder or one around it, for any client, was changed since; null if nothing was. */
export async function changedSince(data_dir: string, cwd: string): Promise<string | null> {
  const found = await firstAbove(resolve(data_dir), cwd).catch((why) => error(messageOf(why), 'cstp doctor'))
  // What a file says of itself in a message is no instruction.
  return (
    found &&
    `cstp's hooks are not as cstp init left them, so calls may run unchecked: ${quoted(found.what)}. Say so to the user, who fixes it with: ${plainText(found.fix)}`
  )
}
