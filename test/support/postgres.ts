/** A real PostgreSQL for tests: the one that CSTP_TEST_POSTGRES names, or one of its own, started on first use and gone with the process. */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'

const isRoot = process.getuid?.() === 0
/** Often in a folder that the path of a program does not name. */
const runuser = Bun.which('runuser', { PATH: `${process.env.PATH}:/usr/sbin:/sbin` })

/** Ids of the user that runs it for root, and of its group, as the system lists them. */
function owner(): [user: number, group: number] | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'))
  const [, , user, group] = line?.split(':') ?? []
  return user === undefined ? null : [Number(user), Number(group)]
}

/** Folder of `initdb` and `pg_ctl`; null where they are missing, or can't be run. */
function binaries(): string | null {
  if (isRoot && (runuser === null || owner() === null)) return null
  const debian = '/usr/lib/postgresql'
  const folders = [
    ...safeList(debian).map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ]
  return folders.find((folder) => safeList(folder).includes('initdb')) ?? null
}

function safeList(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // A folder of the PATH that is not there.
    return []
  }
}

/** `initdb` and the server refuse to run as root. */
const asOwner = (command: string[]): string[] => (isRoot ? [runuser!, '-u', 'postgres', '--', ...command] : command)

/** Runs a program of PostgreSQL as the user that may. */
export function run(command: string[]): void {
  const [program, ...args] = asOwner(command)
  // Files, not pipes: the server that pg_ctl starts would hold them open.
  const { status, error } = spawnSync(program!, args, { stdio: 'ignore' })
  if (status !== 0) throw new Error(`${command[0]} failed${error ? `: ${error.message}` : ''}`)
}

export interface Postgres {
  /** `postgres://…/database`. */
  url: string
  /** Stops at once, as if the machine had lost power, but in order where its folder is kept; with `restart` it comes back on the same address. */
  kill(): void
  restart(): void
}

/**
 * On a port below those that the system gives to clients; another one if some program has it already.
 * @param own port of a kept folder: no other one, since the segments kept beside it are named by its address
 */
function startAnywhere(startOn: (port: number) => void, own: number | null): number {
  for (let attempt = 1; ; attempt++) {
    const port = own ?? 10_000 + Math.floor(Math.random() * 20_000)
    try {
      startOn(port)
      return port
    } catch (error) {
      if (attempt === 5) throw error
      if (own !== null) Bun.sleepSync(1_000)
    }
  }
}

/**
 * @param settings as `postgres -c` takes them
 * @param kept a folder that stays, with its databases and its port, for the next one that is started on it
 */
function startOwn(bin: string, settings: readonly string[], kept?: string): Postgres {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'cstp-pg-'))
  mkdirSync(folder, { recursive: true })
  const [data, ownPort] = [join(folder, 'data'), join(folder, 'port')]
  if (isRoot) {
    chmodSync(folder, 0o755)
    chownSync(folder, ...owner()!)
  }
  if (!existsSync(join(data, 'PG_VERSION')))
    run([join(bin, 'initdb'), '-D', data, '-U', 'cstp', '--auth=trust', '--locale=C.UTF-8', '-E', 'UTF8'])
  // Who had a kept folder before may just be stopping, and would stop this one with it.
  const pid = join(data, 'postmaster.pid')
  for (let waited_ms = 0; kept !== undefined && existsSync(pid) && waited_ms < 10_000; waited_ms += 100)
    Bun.sleepSync(100)
  const fixed = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'max_connections=200']
  const optionsOf = (port: number) => `-p ${port} ${[...fixed, ...settings].map((one) => `-c ${one}`).join(' ')}`
  const startOn = (port: number) =>
    run([join(bin, 'pg_ctl'), '-D', data, '-w', '-t', '60', '-l', join(folder, 'log'), '-o', optionsOf(port), 'start'])
  const stopping = [join(bin, 'pg_ctl'), '-D', data, '-m', kept === undefined ? 'immediate' : 'fast', 'stop']
  const port = startAnywhere(startOn, existsSync(ownPort) ? Number(readFileSync(ownPort, 'utf8')) : null)
  if (kept !== undefined) writeFileSync(ownPort, String(port))
  endWithThis(stopping, kept === undefined ? folder : null)
  return { url: `postgres://cstp@127.0.0.1:${port}/postgres`, kill: () => run(stopping), restart: () => startOn(port) }
}

/** The test runner tells nobody that it ends, and may be killed: a shell of its own watches, stops the server, and takes its folder away. */
function endWithThis(stopping: string[], folder: string | null): void {
  const watch = 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; shift; rest=$1; shift; "$@"; rm -rf "$rest"'
  const own = ['sh', '-c', watch, 'sh', String(process.pid), folder ?? '', ...asOwner(stopping)] as const
  spawn(own[0], own.slice(1), { detached: true, stdio: 'ignore' }).unref()
}

let started: Postgres | null | undefined

/** Null where there is no PostgreSQL on this machine. */
export function postgres(): Postgres | null {
  if (started !== undefined) return started
  const given = process.env.CSTP_TEST_POSTGRES
  const bin = binaries()
  if (given) started = { url: given, kill: () => {}, restart: () => {} }
  else started = bin === null ? null : startOwn(bin, ['fsync=off', 'full_page_writes=off'])
  return started
}

/** One of its own that loses nothing, as `settings` tune it; null where there is no PostgreSQL on this machine. @param kept see {@link startOwn} */
export function durablePostgres(settings: readonly string[], kept?: string): Postgres | null {
  const bin = binaries()
  return bin === null ? null : startOwn(bin, settings, kept)
}

/** A program of PostgreSQL beside its `initdb`, where Debian does not put it on the path of others. */
export function programOf(name: string): string {
  const bin = binaries()
  return bin === null ? name : join(bin, name)
}

export const whyNoPostgres =
  'there is no PostgreSQL that can be started on this machine (Debian: postgresql; for root also runuser); CSTP_TEST_POSTGRES names one that runs'

/** Names of this run alone: a server that CSTP_TEST_POSTGRES names may hold those of earlier ones. */
const namePrefix = `cstp_${Date.now().toString(36)}_${process.pid}`
let databases = 0

/** Address of a fresh, empty database. */
export async function freshDatabase({ url }: Postgres): Promise<string> {
  const sql = new SQL(url, { max: 1 })
  const name = `${namePrefix}_${databases++}`
  try {
    await sql.unsafe(`create database ${name}`)
  } finally {
    await sql.close()
  }
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.toString()
}

let schemas = 0

/** Address of a fresh, empty schema: quicker than a database of its own. */
export function freshSchema({ url }: Postgres): string {
  const own = new URL(url)
  own.searchParams.set('schema', `${namePrefix}_s${schemas++}`)
  return own.toString()
}
