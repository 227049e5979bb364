/** Starts the real program as a child process, for tests that need a server that can be killed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')

/** A port that nothing listens on. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

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

export const temporaryDir = (name = 'cstp-test-'): Promise<string> => mkdtemp(join(tmpdir(), name))

/** Waits until `probe` holds. @throws when it does not within `ms` */
export async function until(what: string, probe: () => Promise<boolean>, ms = 20_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await probe().catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await Bun.sleep(10)
  }
}

/** Starts a server on a data directory and waits until it is ready. */
export async function startServer(input: { dir: string; env?: Record<string, string> }): Promise<RunningServer> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: input.dir,
      CSTP_DATA_DIR: input.dir,
      CSTP_PORT: String(port),
      CSTP_EMBEDDER: 'hash',
      CSTP_RATE_LIMIT: '0',
      CSTP_LOG_LEVEL: 'warn',
      ...input.env,
    },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const stderr = new Response(child.stderr).text()
  try {
    await until(`${url}/ready`, async () => {
      if (child.exitCode !== null) throw new Error('the server ended')
      return (await fetch(`${url}/ready`)).ok
    })
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`${(error as Error).message}\n${await stderr}`)
  }
  const token =
    input.env?.CSTP_AUTH_TOKENS?.split(',')[0] ?? `local:${(await readFile(join(input.dir, 'token'), 'utf8')).trim()}`
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

/** Runs `work` in a temporary directory that is removed afterwards. */
export async function inTemporaryDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await temporaryDir()
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
