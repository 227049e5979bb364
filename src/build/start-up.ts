/** Measures how long a compiled program takes to start on a machine where it has never run. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const times = 5

/** Runs `work` in an empty folder, with an environment that refers only to that folder. */
async function somewhereNew<T>(work: (dir: string, env: Record<string, string>) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-start-'))
  try {
    return await work(dir, { HOME: dir, TMPDIR: dir, PATH: '', CSTP_LOG_LEVEL: 'error' })
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const version = (program: string): Promise<number> =>
  somewhereNew(async (cwd, env) => {
    const began = performance.now()
    await Bun.spawn([program, '--version'], { cwd, env, stdout: 'ignore' }).exited
    return performance.now() - began
  })

/** Time in milliseconds from starting a service without data to its answer to a keyword query. */
const firstAnswer = (program: string): Promise<number> =>
  somewhereNew(async (cwd, env) => {
    const began = performance.now()
    const child = Bun.spawn([program, 'serve', '--json', '--port', '0'], {
      cwd,
      env,
      stdout: 'pipe',
      stderr: 'inherit',
    })
    try {
      const { value } = await child.stdout.getReader().read()
      if (value === undefined) throw new Error(`${program} does not start`)
      const { url, token_file } = JSON.parse(new TextDecoder().decode(value))
      const params = { query: 'which database', retrieval_mode: 'keyword' }
      const answer = await fetch(`${url}/cstp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer local:${readFileSync(token_file, 'utf8').trim()}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'cstp.queryDecisions', params }),
      })
      const { error } = (await answer.json()) as { error?: unknown }
      if (error) throw new Error(`${program} answers ${JSON.stringify(error)}`)
      return performance.now() - began
    } finally {
      child.kill()
      await child.exited
    }
  })

async function median(measure: () => Promise<number>): Promise<number> {
  const found: number[] = []
  for (let at = 0; at < times; at++) found.push(await measure())
  return Math.round(found.sort((a, b) => a - b)[Math.floor(times / 2)]!)
}

/** Medians in milliseconds. */
export const startUp = async (program: string) => ({
  version_ms: await median(() => version(program)),
  first_answer_ms: await median(() => firstAnswer(program)),
})
