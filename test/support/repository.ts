/** Makes small git repositories, with times, authors and files that a test chooses. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const base = ['-c', 'init.defaultBranch=main', '-c', 'commit.gpgsign=false', '-c', 'core.autocrlf=false']

export interface Repository {
  folder: string
  /** Runs git in it; resolves with its output. */
  git(...args: string[]): Promise<string>
  /** Commits these files, a null removes one; resolves with the hash. Each commit is a day after the one before. */
  commit(
    message: string,
    files?: Record<string, string | null>,
    more?: { author?: string; ago_days?: number },
  ): Promise<string>
}

const dayMs = 86_400_000

/** @param from_days the age of its first commit in days */
export async function makeRepository(folder: string, from_days = 400): Promise<Repository> {
  await mkdir(folder, { recursive: true })
  let at_ms = Date.now() - from_days * dayMs
  let count = 0
  const run = async (args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<string> => {
    const child = Bun.spawn(['git', ...base, '-C', folder, ...args], {
      env: { PATH: process.env.PATH ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1', ...env },
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err, status] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${err}`)
    return out.trim()
  }
  const people = (author: string, ms: number) => ({
    GIT_AUTHOR_NAME: author,
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_AUTHOR_DATE: new Date(ms).toISOString(),
    GIT_COMMITTER_NAME: author,
    GIT_COMMITTER_EMAIL: 'a@example.com',
    GIT_COMMITTER_DATE: new Date(ms).toISOString(),
  })
  await run(['init', '-q'])
  return {
    folder,
    git(...args) {
      at_ms += dayMs
      return run(args, people('ada', at_ms))
    },
    async commit(message, files = { [`file-${++count}`]: `${count}\n` }, { author = 'ada', ago_days } = {}) {
      at_ms = ago_days === undefined ? at_ms + dayMs : Date.now() - ago_days * dayMs
      for (const [path, text] of Object.entries(files)) {
        const whole = join(folder, path)
        if (text === null) await rm(whole)
        else {
          await mkdir(dirname(whole), { recursive: true })
          await writeFile(whole, text)
        }
      }
      await run(['add', '-A'])
      await run(['commit', '-q', '--allow-empty', '-F', '-'], people(author, at_ms), message)
      return run(['rev-parse', 'HEAD'])
    },
  }
}
