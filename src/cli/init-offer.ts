/** What `cstp init` offers at its end: a memory from what the repository has already. */
import { resolve } from 'node:path'
import { countDecisions } from '../app/git/decisions.ts'
import { commandLine } from '../app/service-file.ts'
import { plural } from './terminal.ts'

export interface Offer {
  /** How many decisions the history of the repository holds, in words. */
  found: string
  /** The words that import them. */
  command: string[]
  /** The same for somebody who types it. */
  line: string
}

/** The offer for a folder; null if its history decides nothing. @param program this program by absolute paths */
export async function offerOf(dir: string, program: readonly string[], data_dir: string): Promise<Offer | null> {
  const count = await countDecisions(dir)
  if (count === null || count.decisions === 0) return null
  const found = `${count.more ? 'at least ' : ''}${plural(count.decisions, 'decision')}`
  const command = [...program, 'import', 'git', dir, '--data-dir', data_dir]
  const isHere = dir === resolve(process.env.INIT_CWD ?? '.')
  return { found, command, line: commandLine(['import', 'git', ...(isHere ? [] : [dir])], data_dir) }
}

/** The offer for somebody who can't be asked. */
export const offerLine = ({ found, line }: Offer): string =>
  `Import ${found} of this repository, with what was reverted:  ${line}`

/** Asks, and imports with a yes. @returns the exit status of the import; null without a yes */
export async function askToImport({ found, command }: Offer): Promise<number | null> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal
    .question(`The history of this repository holds ${found}, with what was reverted. Import them now? [y/N] `)
    .finally(() => terminal.close())
  if (!/^y(?:es)?$/i.test(answer.trim())) return null
  const [program, ...args] = command
  const { exitCode } = Bun.spawnSync([program!, ...args], { stdio: ['inherit', 'inherit', 'inherit'] })
  return exitCode
}
