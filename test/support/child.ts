/** The program as a child process: one command, or a service that runs until it is stopped. */
import { join } from 'node:path'

export const root = join(import.meta.dir, '../..')
export const main = join(root, 'src/main.ts')

export interface Ended {
  status: number
  out: string
  err: string
}

/** Nothing of the developer's own settings reaches the program. */
export const bareEnv = (dir: string, more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: dir,
  CSTP_DATA_DIR: dir,
  CSTP_EMBEDDER: 'hash',
  ...more,
})

/** How the program is run: what is called, and in which folder. */
export interface Way {
  command: string[]
  cwd: string
}
const fromSource: Way = { command: [process.execPath, main], cwd: root }

export const spawn = (args: string[], env: Record<string, string>, input?: string | Uint8Array, way = fromSource) =>
  Bun.spawn([...way.command, ...args], {
    cwd: way.cwd,
    env,
    stdin: input === undefined ? 'ignore' : new Blob([input as BlobPart]),
    stdout: 'pipe',
    stderr: 'pipe',
  })

/** Runs one command to its end. */
export async function cstp(
  args: string[],
  env: Record<string, string>,
  input?: string | Uint8Array,
  way?: Way,
): Promise<Ended> {
  const child = spawn(args, env, input, way)
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { status, out, err }
}

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
