/** Starts the program and other commands as child processes: one command, or a server that runs until it is stopped or killed. */
import { onTestFinished } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const root = join(import.meta.dir, '../..')
/** What `npm test` built, which starts in a third of the time; from source where it is not named. */
export const built = process.env.CSTP_TEST_PROGRAM ? resolve(root, process.env.CSTP_TEST_PROGRAM) : null

/** The program as `npm start` runs it. */
export const fromSource = [process.execPath, join(root, 'src/main.ts')]

/** What starts the program. */
export const cstpCommand: readonly string[] = built === null ? fromSource : [built]

/** The same as a line of a shell. */
export const cstpLine = cstpCommand.map((part) => `'${part}'`).join(' ')

export interface Ended {
  status: number
  out: string
  err: string
}

/** Settings that let an agent do everything, for tests that are about something else. */
export const everyScope = (agent: string): Record<string, string> => ({
  CSTP_ADMIN_AGENTS: agent,
  CSTP_EVIDENCE_AGENTS: agent,
  CSTP_CURATORS: agent,
  CSTP_APPROVERS: agent,
})

/**
 * Processes of tests live for seconds, in which compiling their code costs more than it saves: a third of their CPU time or more. The soak runs
 * them as users do.
 */
export const shortLived: Record<string, string> = process.env.CSTP_SOAK
  ? {}
  : { BUN_JSC_useDFGJIT: '0', BUN_JSC_thresholdForJITAfterWarmUp: '2000' }

/** Nothing of the developer's own settings reaches the program. */
export const bareEnv = (dir: string, more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: dir,
  CSTP_DATA_DIR: dir,
  CSTP_EMBEDDER: 'hash',
  // A service that a test did not start would outlive it.
  CSTP_IDLE_EXIT: '0',
  ...shortLived,
  ...more,
})

/** How the program is run: what is called, and in which folder. */
export interface Way {
  command: readonly string[]
  cwd: string
}
const asTested: Way = { command: cstpCommand, cwd: root }

/** What is started with pipes for what it says. */
const piped = (command: readonly string[], cwd: string, env: Record<string, string>, input?: string | Uint8Array) =>
  Bun.spawn([...command], {
    cwd,
    env,
    stdin: input === undefined ? 'ignore' : new Blob([input as BlobPart]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
export type Child = ReturnType<typeof piped>

/** What a process said, once it has ended. */
export async function ended({ stdout, stderr, exited }: Child): Promise<Ended> {
  const [out, err, status] = await Promise.all([new Response(stdout).text(), new Response(stderr).text(), exited])
  return { status, out, err }
}

/** Runs any command to its end. */
export const run = (
  command: string[],
  { cwd, env, input }: { cwd: string; env: Record<string, string>; input?: string | Uint8Array },
): Promise<Ended> => ended(piped(command, cwd, env, input))

/** Starts one command of the program. */
export const spawn = (args: string[], env: Record<string, string>, input?: string | Uint8Array, way = asTested) =>
  piped([...way.command, ...args], way.cwd, env, input)

/** Runs one command of the program to its end. */
export const cstp = (
  args: string[],
  env: Record<string, string>,
  input?: string | Uint8Array,
  way?: Way,
): Promise<Ended> => ended(spawn(args, env, input, way))

export interface Service {
  url: string
  /** What it printed until it answered. */
  banner: string
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

/** Starts `cstp serve` on a free port. @throws when it ends instead */
export async function serve(env: Record<string, string>, args: string[] = [], way?: Way): Promise<Service> {
  const child = spawn(['serve', '--port', '0', ...args], env, undefined, way)
  const err = new Response(child.stderr).text()
  const reader = child.stdout.getReader()
  const decoder = new TextDecoder()
  let out = ''
  // The last line of what it prints, for a person or a program.
  while (!/Ctrl-C stops it\.\n|"url"/.test(out)) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the service ended: ${await err}`)
    out += decoder.decode(value, { stream: true })
  }
  return {
    url: /http:\/\/127\.0\.0\.1:\d+/.exec(out)![0],
    banner: out,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const status = await child.exited
      return { status, out, err: await err }
    },
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A port that nothing listens on, below those that the system gives to anyone who asks for any: it stays free until it is used. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    if (await isFree(port)) return port
  }
}

export interface Answer {
  result?: Record<string, unknown>
  error?: { code: number; message: string; data?: Record<string, unknown> }
}

export interface RunningServer {
  url: string
  dir: string
  process: Bun.Subprocess
  /** Posts a JSON-RPC body as it is, batches too. @throws when no answer comes */
  post(body: unknown): Promise<unknown>
  /** @throws when no answer comes */
  rpc(method: string, params: unknown): Promise<Answer>
  /** The result. @throws for an error answer too */
  call(method: string, params: unknown): Promise<Record<string, unknown>>
  /** What the process wrote to stderr. */
  log(): Promise<string>
  kill(signal?: NodeJS.Signals): Promise<number | null>
}

export const temporaryDir = (name = 'cstp-test-', folder = tmpdir()): Promise<string> => mkdtemp(join(folder, name))

/** Where the system's temporary folders are; `memory.ts` has those of other tests elsewhere. */
export const disk = process.env.CSTP_TEST_DISK!

/** Waits until `probe` holds: on a busy machine nearly as long as a test may take. @throws when it does not within `ms` */
export async function until(what: string, probe: () => Promise<boolean>, ms = 110_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await probe().catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await Bun.sleep(10)
  }
}

/**
 * Starts a server on a data directory, whose first agent may do everything, and waits until it is ready.
 * @param input.first that agent and its token, where a file of settings names them
 */
export async function startServer(input: {
  dir: string
  env?: Record<string, string>
  first?: string
  command?: readonly string[]
  port?: number
}): Promise<RunningServer> {
  const port = input.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const given = input.first ?? input.env?.CSTP_AUTH_TOKENS?.split(',')[0]
  const first = given?.split(':')[0] ?? 'local'
  const more = { CSTP_RATE_LIMIT: '0', CSTP_LOG_LEVEL: 'warn', ...everyScope(first), ...input.env }
  const child = piped(
    [...(input.command ?? cstpCommand), 'serve'],
    root,
    bareEnv(input.dir, { CSTP_PORT: String(port), ...more }),
  )
  // Nobody reads it, and a full pipe would hold the server up.
  void new Response(child.stdout).text()
  const stderr = new Response(child.stderr).text()
  try {
    await until(`${url}/ready`, async () => {
      if (child.exitCode !== null) return true
      return (await fetch(`${url}/ready`)).ok
    })
    if (child.exitCode !== null) throw new Error('the server ended')
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`${(error as Error).message}\n${await stderr}`)
  }
  const token = given ?? `local:${(await readFile(join(input.dir, 'token'), 'utf8')).trim()}`
  const post = async (body: unknown): Promise<unknown> => {
    const response = await fetch(`${url}/cstp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return response.json()
  }
  const rpc = async (method: string, params: unknown): Promise<Answer> =>
    (await post({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 })) as Answer
  return {
    url,
    dir: input.dir,
    process: child,
    post,
    rpc,
    async call(method, params) {
      const { result, error } = await rpc(method, params)
      if (!result) throw new Error(`${method}: ${JSON.stringify(error)}`)
      return result
    },
    log: () => stderr,
    async kill(signal = 'SIGTERM') {
      child.kill(signal)
      await child.exited
      return child.exitCode
    },
  }
}

/** Resident memory of the process in MB. */
export async function residentMb({ process: { pid } }: Pick<RunningServer, 'process'>): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text()
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1_024
}

/** Runs `work` in a temporary directory that is removed afterwards. */
export async function inTemporaryDir<T>(work: (dir: string) => Promise<T>, folder?: string): Promise<T> {
  const dir = await temporaryDir(undefined, folder)
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const opened: (() => unknown)[] = []

/** Closes what a test opened once the test has ended, however it ended, the last first. For tests and `beforeEach`, not for `beforeAll`. */
export function atEnd<T>(thing: T, close: (thing: T) => unknown): T {
  if (opened.length === 0)
    onTestFinished(async () => {
      for (const closing of opened.splice(0).reverse()) await closing()
    })
  opened.push(() => close(thing))
  return thing
}

/** A temporary directory that is removed after the test. */
export const testDir = async (name?: string): Promise<string> =>
  atEnd(await temporaryDir(name), (dir) => rm(dir, { recursive: true, force: true }))

/** {@link startServer} for one test, which need not end it. */
export const testServer = async (...given: Parameters<typeof startServer>) =>
  atEnd(await startServer(...given), (server) => server.kill('SIGKILL'))

/** {@link serve} for one test, which need not end it. */
export const testService = async (...given: Parameters<typeof serve>) =>
  atEnd(await serve(...given), (service) => service.stop('SIGKILL'))
