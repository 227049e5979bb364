/** Child processes of a measurement: started, waited for, watched in /proc, ended. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/process.ts'

const root = join(import.meta.dir, '../..')
const ticksPerSecond = 100

export interface Child {
  url: string
  /** All addresses, where several servers are one. */
  urls: readonly string[]
  port: number
  /** From the spawn to the first answer at `path`. */
  answered_ms: number
  /** CPU seconds that the process has used; NaN where /proc does not say. */
  cpuSeconds(): number
  /** Resident memory in bytes. */
  rss(): number
  /** Most resident memory in bytes since the last {@link forgetPeak}. */
  peakRss(): number
  forgetPeak(): void
  stop(): Promise<void>
}

const procFile = (pid: number, name: string): string | null => {
  const path = `/proc/${pid}/${name}`
  return existsSync(path) ? readFileSync(path, 'utf8') : null
}

function cpuSeconds(pid: number): number {
  // The name in parentheses may hold blanks: count fields behind it.
  const fields = procFile(pid, 'stat')?.split(') ').at(-1)?.split(' ')
  return fields ? (Number(fields[11]) + Number(fields[12])) / ticksPerSecond : Number.NaN
}

const memory = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(procFile(pid, 'status') ?? '')?.[1] ?? Number.NaN) * 1_024

/** Runs a script of ours to its end. */
export async function runToEnd(script: string, args: readonly (string | number)[]): Promise<void> {
  const child = Bun.spawn([process.execPath, join(root, script), ...args.map(String)], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  if ((await child.exited) !== 0) throw new Error(`${script} failed:\n${await new Response(child.stderr).text()}`)
}

/** Several as one: figures are sums, calls go to the first unless a load spreads them. */
export function together(children: readonly Child[]): Child {
  const [first] = children
  const sum = (figure: (child: Child) => number) => () => children.reduce((total, child) => total + figure(child), 0)
  return {
    ...first!,
    urls: children.map(({ url }) => url),
    answered_ms: Math.max(...children.map(({ answered_ms }) => answered_ms)),
    cpuSeconds: sum((child) => child.cpuSeconds()),
    rss: sum((child) => child.rss()),
    peakRss: sum((child) => child.peakRss()),
    forgetPeak() {
      for (const child of children) child.forgetPeak()
    },
    stop: async () => void (await Promise.all(children.map((child) => child.stop()))),
  }
}

/** Asks until the answer is 200; false when the process has ended, or in an hour: a first start writes the search index of all decisions. */
async function answersWithin(url: string, alive: () => boolean): Promise<boolean> {
  const end = Date.now() + 3_600_000
  while (alive() && Date.now() < end) {
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return true
    await Bun.sleep(3)
  }
  return false
}

/**
 * Starts a script that listens on a port, and waits until `path` answers 200.
 * @param input.args get the port
 * @param input.log file for what the process says
 */
export async function startChild(input: {
  script: string
  args(port: number): (string | number)[]
  env?: (port: number) => Record<string, string>
  bun?: readonly string[]
  path: string
  log: string
}): Promise<Child> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = { PATH: process.env.PATH ?? '', ...input.env?.(port) }
  const start = performance.now()
  const child = Bun.spawn(
    [process.execPath, ...(input.bun ?? []), join(root, input.script), ...input.args(port).map(String)],
    { cwd: root, env, stdin: 'ignore', stdout: 'ignore', stderr: Bun.file(input.log) },
  )
  const stop = async () => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await child.exited
    clearTimeout(late)
  }
  if (!(await answersWithin(url + input.path, () => child.exitCode === null))) {
    await stop()
    throw new Error(
      `${input.script} does not answer at ${input.path}\n${readFileSync(input.log, 'utf8').slice(-2_000)}`,
    )
  }
  const answered_ms = performance.now() - start
  return {
    url,
    urls: [url],
    port,
    answered_ms,
    cpuSeconds: () => cpuSeconds(child.pid),
    rss: () => memory(child.pid, 'VmRSS'),
    peakRss: () => memory(child.pid, 'VmHWM'),
    // See proc(5): 5 sets the peak back to what is resident now.
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    stop,
  }
}
