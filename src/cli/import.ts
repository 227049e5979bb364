/** cstp import: imports decisions from JSON Lines, the history of a git repository, architecture decision records, beads and folders of YAML files. */
import { stat } from 'node:fs/promises'
import { CstpError } from '../../sdk/errors.ts'
import { boundMs } from '../../sdk/schema/params.ts'
import { defaultLimit, readHistory, standingDays } from '../app/git/decisions.ts'
import { messageOf } from '../core/log.ts'
import { readAdrFolder } from './adr/folder.ts'
import { defineCommand, type Run } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'
import { beadLines } from './import-beads.ts'
import { gitLines, previewOf } from './import-git.ts'
import { type Line, nameOf, type Place, readLines } from './import-lines.ts'
import { load, type Summary } from './import-load.ts'
import { yamlLines } from './import-yaml.ts'
import { retryWhenRateLimited } from './pages.ts'
import { jsonLine, pad, plain, withProgress } from './terminal.ts'

/** Problems listed in the JSON summary at most; stderr has all of them. */
const maxProblems = 1_000
const interrupted = 130

/** The bytes of a stream; the signal also ends a pending read. */
async function* chunks(stream: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

/** The input and its size, which is unknown for stdin. @throws Failure if the file does not exist */
async function open(path: string): Promise<{ stream: ReadableStream<Uint8Array>; bytes: number | null }> {
  if (path === '-') return { stream: Bun.stdin.stream(), bytes: null }
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(error.code === 'ENOENT' ? `there is no file ${path}` : messageOf(error))
  })
  if (found.isDirectory()) throw new Failure(`${path} is a folder, not a file`)
  return { stream: Bun.file(path).stream(), bytes: found.isFile() ? found.size : null }
}

function summaryText(done: Summary): string {
  const {
    imported,
    existing,
    reviewed,
    linked,
    skipped,
    incomplete,
    unindexed,
    seconds,
    per_second,
    dry_run,
    interrupted,
  } = done
  const parts = [
    `${imported} ${dry_run ? 'to import' : 'imported'}`,
    ...(dry_run ? [] : [`${existing} existing`]),
    `${reviewed} ${dry_run ? 'with outcome' : 'reviewed'}`,
    `${linked} ${dry_run ? 'links' : 'linked'}`,
    `${skipped} skipped`,
    ...(incomplete > 0 ? [`${incomplete} outcomes or links not imported`] : []),
    `${seconds} s`,
    `${per_second} per second`,
  ]
  const notes = [
    ...(unindexed > 0 ? [`${unindexed} still wait for their vectors; keyword search finds them already.`] : []),
    ...(dry_run ? ['This was a dry run: nothing was written. It can’t tell which decisions are already stored.'] : []),
    ...(interrupted ? ['Interrupted; the same command continues from here.'] : []),
  ]
  return `${[parts.join(', '), ...notes].join('\n')}\n`
}

/** The newest decisions of a history, for a dry run. */
function previewText({ preview = [] }: { preview?: ReturnType<typeof previewOf> }): string {
  const lines = preview.map(
    ({ sha, date, kind, decision, outcome }) =>
      `${sha.slice(0, 10)}  ${date}  ${pad(kind, 10)}  ${pad(outcome ?? 'open', 7)}  ${plain(decision)}`,
  )
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

/** The lines to import, and what is reported about the input. */
interface Source {
  lines: Iterable<Line> | AsyncIterable<Line>
  /** Files without a decision, and links without a target. */
  leftOut?: readonly { file: string; reason: string }[]
  /** Newest decisions, which a dry run shows. */
  preview?: ReturnType<typeof previewOf>
  /** Fraction of the input read so far, 0 to 1; null if unknown. */
  part?(): number | null
  /** True once part of the input has been read. */
  begun(): boolean
}

const importFlags = {
  'dry-run': {
    kind: 'switch',
    about: 'Check everything and report what would be imported, without a server and without writing.',
  },
  ...connectionFlags,
} as const

async function runImport(run: Run<typeof importFlags>, source: Source): Promise<number> {
  const { terminal, signal, json, flags } = run
  // The signal does not close the connection, so that calls in progress complete.
  const opened = flags['dry-run'] ? null : await openConnection(run, { admin: 'always' })
  const problems: (Place & { reason: string })[] = []
  const { leftOut = [] } = source
  try {
    const done = await withProgress(terminal, (progress) => {
      for (const { file, reason } of leftOut) progress.note(`${plain(file)}: left out: ${plain(reason)}`)
      return load(each(source.lines), {
        connection:
          opened &&
          retryWhenRateLimited(opened, (seconds) =>
            progress.show(null, `the server limits the rate: waiting ${seconds} s`),
          ),
        signal,
        problem(place, reason) {
          if (problems.length < maxProblems) problems.push({ ...place, reason })
          progress.note(`${plain(nameOf(place))}: ${plain(reason)}`)
        },
        progress(phase, count, total) {
          const part = phase === 'links' ? (total ? count / total : null) : (source.part?.() ?? null)
          progress.show(part, `${count} ${phase === 'links' ? 'decisions linked' : 'decisions'}`)
        },
      })
    })
    const left = source.leftOut ? { left_out: leftOut } : {}
    const preview = flags['dry-run'] && source.preview ? { preview: source.preview } : {}
    await terminal.out(
      json ? jsonLine({ ...done, problems, ...left, ...preview }) : `${previewText(preview)}${summaryText(done)}`,
    )
    return done.interrupted ? interrupted : done.skipped + done.incomplete > 0 ? 1 : 0
  } catch (error) {
    if (source.begun() && !(error instanceof CstpError))
      terminal.note('What was imported until then stays; the same command continues from there.\n')
    throw error
  } finally {
    await opened?.close()
  }
}

async function* each<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  yield* items
}

/** A file or stdin, read while its lines are imported. */
async function fromFile(path: string, signal: AbortSignal, lines: (input: AsyncIterable<Line>) => AsyncIterable<Line>) {
  const { stream, bytes } = await open(path)
  let read = 0
  return {
    lines: lines(readLines(chunks(stream, signal), (now) => (read = now))),
    part: () => (bytes ? read / bytes : null),
    begun: () => read > 0,
  }
}

const adr = defineCommand({
  name: 'import adr',
  usage: '<folder>',
  summary: 'Import architecture decision records: MADR, Nygard, log4brains and their relatives.',
  about: [
    'Every Markdown file below the folder that has a title and a decision or a status becomes a decision: its text is the title and the decision, options that were not chosen are alternatives, what follows “because” and the decision drivers are reasons, and everything else is kept as its context. The status is a tag (status:accepted). “Supersedes”, “superseded by”, “amends” and the like become links.',
    'The date is the one of the record, else that of its file name, else the day of the first git commit of the file. No values are invented: these decisions have no confidence and no category, so they do not count in any score.',
    'Importing the folder again changes nothing. Files without a record are listed and skipped.',
  ],
  flags: {
    project: {
      kind: 'value',
      value: 'owner/repo',
      about: 'Project of the decisions; by default that of the git remote.',
    },
    ...importFlags,
  },
  examples: [
    ['cstp import adr docs/decisions --dry-run', 'what would be imported?'],
    ['cstp import adr docs/decisions', 'into the running server'],
  ],
  async run(run) {
    const { lines, leftOut } = await readAdrFolder(run.words[0]!, run.flags.project)
    return runImport(run, { lines, leftOut, begun: () => true })
  },
})

const maxLimit = 100_000

const git = defineCommand({
  name: 'import git',
  usage: '[folder]',
  summary: 'Import what the history of a git repository decided, without a model.',
  about: [
    'Commits and merged pull requests become decisions if they decide something: breaking changes, choices (use X instead of Y, switch, replace, drop, pin …), added and removed dependencies, decision records, migrations, reverts, and conventional commits of the types refactor, build, ci and perf that say how something is built. All others are left out.',
    `Outcomes are those of the history: what was reverted failed, with the revert as the reason and as a link; what has been in the history for ${standingDays} days succeeded; newer decisions are open. A decision that gives up what an earlier one chose supersedes it. No values are invented: these decisions have no confidence and no category, and enter no score.`,
    'It reads the branch that origin/HEAD names, else the current one, and keeps the name of the author. Each decision is imported once, by the hash of its commit; later runs add new ones, and outcomes that became known.',
    'Nothing of the repository is run: git is called without hooks, programs of its configuration and network.',
  ],
  flags: {
    since: { kind: 'value', value: 'date', about: 'Only commits since this day, such as 2024-01-31.' },
    limit: { kind: 'value', value: 'n', about: `Most decisions, the newest first (default ${defaultLimit}).` },
    project: {
      kind: 'value',
      value: 'owner/repo',
      about: 'Project of the decisions; by default that of the git remote.',
    },
    ...importFlags,
  },
  examples: [
    ['cstp import git --dry-run', 'how many decisions, and the newest twenty'],
    ['cstp import git', 'the decisions of this repository'],
    ['cstp import git ../shop --since 2024-01-01', 'another repository, from a day on'],
  ],
  async run(run) {
    const { flags, words, signal, terminal } = run
    const limit = Number(flags.limit ?? defaultLimit)
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxLimit)
      throw misuse(`--limit: expected a whole number from 1 to ${maxLimit}`)
    const { since = null } = flags
    if (since !== null && boundMs(since, false) === null)
      throw misuse('--since: expected a day such as 2024-01-31, or an RFC 3339 time')
    const folder = words[0] ?? '.'
    const history = await withProgress(terminal, (progress) =>
      readHistory(folder, {
        limit,
        since: since === null ? null : new Date(boundMs(since, false)!).toISOString(),
        signal,
        progress: (read, found) => progress.show(null, `${read} commits read, ${found} decisions`),
      }).catch((error) => {
        throw new Failure(messageOf(error))
      }),
    )
    const now_ms = Date.now()
    const lines = gitLines(history, flags.project, now_ms)
    let taken = 0
    const counted = function* () {
      for (const line of lines) {
        taken++
        yield line
      }
    }
    return runImport(run, {
      lines: counted(),
      preview: previewOf(history, now_ms),
      part: () => (lines.length === 0 ? null : taken / lines.length),
      begun: () => taken > 0,
    })
  },
})

const beads = defineCommand({
  name: 'import beads',
  usage: '<file | ->',
  summary: 'Import the decisions of an issue tracker that beads exported as JSON Lines.',
  about: [
    'Issues of the type decision become decisions: title, description and design, labels as tags, dependencies between decisions as links. The reason for closing becomes the outcome if it names one (done, failed, abandoned …); otherwise it is kept in the context. Other issues are skipped.',
    'No values are invented: these decisions have no confidence and no category, so they do not count in any score. Importing the file again changes nothing.',
  ],
  flags: importFlags,
  examples: [['bd export | cstp import beads -', 'the decisions of this repository']],
  async run(run) {
    return runImport(run, await fromFile(run.words[0]!, run.signal, beadLines))
  },
})

const cstpYaml = defineCommand({
  name: 'import cstp-yaml',
  usage: '<folder>',
  summary: 'Import decision files: those of this program, and of others that keep a decision as YAML.',
  about: [
    'Every .yaml file below the folder is one decision: the files of a data directory or of cstp export --yaml, and those with summary, date, pre_decision and trace that earlier programs of the protocol wrote. Outcomes and links are imported too.',
    'Importing the folder again changes nothing.',
  ],
  flags: importFlags,
  examples: [['cstp import cstp-yaml ./decisions --dry-run', 'what would be imported?']],
  async run(run) {
    return runImport(run, { lines: await yamlLines(run.words[0]!), begun: () => true })
  },
})

export const importDecisions = defineCommand({
  name: 'import',
  usage: '<file | ->',
  summary: 'Import decisions with outcomes and links: git history, JSON Lines, ADR folders, beads, YAML files.',
  about: [
    'Each line is a JSON object: the parameters of recordDecision (decision, category and confidence are required), and optionally source (its own key), date, agent, outcome (success, failure, partial or abandoned) with actual_result, lessons, notes and basis, and links: [{"target": the source or id of another decision, "edge_type": "depends_on", "weight"?, "context"?}].',
    'Importing a file again creates no duplicates: a decision with a known source stays as it is, except that a missing outcome or link is added. Lines without a source are recognised by their content. An invalid line is reported with its number and skipped, and the exit status is then 1.',
    'A server requires an agent with the scope admin. The command respects the rate limit of the server (--rate-limit 0 on the server removes it; --local has none).',
  ],
  flags: importFlags,
  verbs: [git, adr, beads, cstpYaml],
  examples: [
    ['cstp import decisions.jsonl --dry-run', 'what is wrong with the file?'],
    ['cstp import decisions.jsonl', 'into the running server'],
    ['cstp export | cstp import - --local --data-dir ./copy', 'a copy in another folder'],
  ],
  async run(run) {
    return runImport(run, await fromFile(run.words[0]!, run.signal, (lines) => lines))
  },
})
