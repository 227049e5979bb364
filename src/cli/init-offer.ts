/** What `cstp init` offers at its end: a memory from what the repository has already. */
import { readdirSync, realpathSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { countDecisions } from '../app/git/decisions.ts'
import { gitText, repositoryOf } from '../app/git/run.ts'
import { commandLine } from '../app/service-file.ts'
import { regularText } from '../core/disk.ts'
import { plain, plural } from './terminal.ts'

export interface Offer {
  /** What there is to import, in words. */
  found: string
  /** The words of the command that imports it. */
  args: string[]
  /** The same for somebody who types it. */
  line: string
}

/** Where projects keep their decision records. */
const recordFolders = ['.', 'doc', 'docs', 'architecture', 'doc/architecture', 'docs/architecture'].flatMap((above) =>
  ['adr', 'adrs', 'decisions', 'architecture-decisions'].map((name) => join(above, name)),
)

/** Whether a path is really in the folder: a link of a repository may lead to any file of the user. */
function isIn(dir: string, path: string): boolean {
  try {
    return realpathSync(path) === join(realpathSync(dir), relative(dir, path))
  } catch {
    return false
  }
}

function* recordsIn(dir: string): Generator<[found: string, args: string[]]> {
  for (const folder of recordFolders) {
    const path = join(dir, folder)
    if (!isIn(dir, path)) continue
    const files = readdirSync(path).filter((name) => /\.(?:md|markdown)$/i.test(name) && !/readme|template/i.test(name))
    if (files.length > 0) yield [`${plural(files.length, 'decision record')} in ${folder}`, ['import', 'adr', path]]
  }
}

/** Issues of the type decision that beads keeps in the repository. */
function* beadsIn(dir: string): Generator<[found: string, args: string[]]> {
  const path = join(dir, '.beads', 'issues.jsonl')
  if (!isIn(dir, path)) return
  const decisions = regularText(path)?.match(/"issue_type":\s*"decision"/g)?.length ?? 0
  if (decisions > 0) yield [`${plural(decisions, 'decision')} of beads`, ['import', 'beads', path]]
}

/** Everything that a folder has to import; empty if that is nothing. */
export async function offersOf(dir: string, data_dir: string): Promise<Offer[]> {
  const isHere = dir === resolve(process.env.INIT_CWD ?? '.')
  const history = await countDecisions(dir)
  const all: [string, string[]][] = []
  if (history !== null && history.decisions > 0) {
    const count = `${history.more ? 'at least ' : ''}${plural(history.decisions, 'decision')}`
    all.push([`${count} of its history, with what was reverted`, ['import', 'git', dir]])
  }
  try {
    all.push(...recordsIn(dir), ...beadsIn(dir))
  } catch {
    // A folder or file that can't be read is not offered.
  }
  return all.map(([found, args]) => {
    const typed = isHere ? args.filter((one) => one !== dir) : args
    return { found, args, line: commandLine(typed, data_dir) }
  })
}

/** The offer for somebody who can't be asked. */
export const offerLine = ({ found, line }: Offer): string => `Import ${found}:  ${line}`

/**
 * Asks, with a yes imports everything, and then asks the memory a first question: whether to do again what failed here last.
 * @param program this program by absolute paths
 */
export async function askToImport(offers: readonly Offer[], program: readonly string[], dir: string, data_dir: string) {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal
    .question(`This repository holds ${offers.map(({ found }) => found).join('; ')}. Import now? [y/N] `)
    .finally(() => terminal.close())
  if (!/^y(?:es)?$/i.test(answer.trim())) return
  const run = (args: string[], stdout: 'inherit' | 'pipe' = 'inherit') =>
    Bun.spawnSync([...program, ...args, '--data-dir', data_dir], { stdin: 'inherit', stdout, stderr: 'inherit' })
  for (const { args } of offers) run(args)
  const project = repositoryOf(await gitText(dir, 'remote', 'get-url', 'origin'))
  const here = project === null ? [] : ['--project', project]
  for (const which of [['--outcome', 'failure'], []]) {
    const { stdout, exitCode } = run(['list', '--limit', '1', '--json', ...here, ...which], 'pipe')
    const [last] =
      exitCode === 0 ? (JSON.parse(stdout!.toString()) as { decisions: { title: string }[] }).decisions : []
    if (last === undefined) continue
    // A title is text of anybody who can commit, and no flag.
    const question = ['query', last.title.replace(/^[-\s]+/, ''), '--limit', '3', ...here]
    process.stderr.write(`\n${plain(commandLine(question, data_dir))}\n`)
    run(question)
    return
  }
}
