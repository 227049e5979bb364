/** cstp import: decisions from JSON Lines, with their outcomes and links. */
import { stat } from 'node:fs/promises'
import { CstpError } from '../../sdk/errors.ts'
import { messageOf } from '../core/log.ts'
import { defineCommand } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { Failure } from './failure.ts'
import { readLines } from './import-lines.ts'
import { load, type Summary } from './import-load.ts'
import { retryWhenRateLimited } from './pages.ts'
import { jsonLine, plain, withProgress } from './terminal.ts'

/** Most problems in the JSON summary; stderr has them all. */
const maxProblems = 1_000
const interrupted = 130

/** The bytes of a stream; the signal also ends a read that is waiting. */
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

/** The input and its size, which is not known for stdin. @throws Failure if there is no such file */
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

export const importDecisions = defineCommand({
  name: 'import',
  usage: '<file | -> [flags]',
  summary: 'Import decisions from JSON Lines, with their outcomes and links.',
  about: [
    'Each line is a JSON object: the parameters of recordDecision (decision, category and confidence are required), and optionally source (its own key), date, agent, outcome (success, failure, partial or abandoned) with actual_result, lessons and notes, and links: [{"target": the source or id of another decision, "edge_type": "depends_on", "weight"?, "context"?}].',
    'Importing a file again creates no duplicates: a decision with a known source stays as it is, except that a missing outcome or link is added. Lines without a source are recognised by their content. An invalid line is reported with its number and skipped, and the exit status is then 1.',
    'A server requires an agent with the scope admin. The command respects the rate limit of the server (--rate-limit 0 on the server removes it; --local has none).',
  ],
  flags: {
    'dry-run': {
      kind: 'switch',
      about: 'Check every line and report what would be done, without a server and without writing.',
    },
    ...connectionFlags,
  },
  words: [1, 1],
  examples: [
    ['cstp import decisions.jsonl --dry-run', 'what is wrong with the file?'],
    ['cstp import decisions.jsonl', 'into the running server'],
    ['cstp export | cstp import - --local --data-dir ./copy', 'a copy in another folder'],
  ],
  async run(run) {
    const { terminal, signal, json, flags } = run
    const { stream, bytes } = await open(run.words[0]!)
    // Not closed by the signal: calls under way complete.
    const opened = flags['dry-run'] ? null : await openConnection(run, { admin: 'always' })
    const problems: { line: number; reason: string }[] = []
    let read = 0
    try {
      const done = await withProgress(terminal, (progress) =>
        load(
          readLines(chunks(stream, signal), (now) => (read = now)),
          {
            connection:
              opened &&
              retryWhenRateLimited(opened, (seconds) =>
                progress.show(null, `the server limits the rate: waiting ${seconds} s`),
              ),
            signal,
            problem(line, reason) {
              if (problems.length < maxProblems) problems.push({ line, reason })
              progress.note(`line ${line}: ${plain(reason)}`)
            },
            progress(phase, count, total) {
              const whole = phase === 'links' ? total : bytes
              const part = whole ? (phase === 'links' ? count : read) / whole : null
              progress.show(part, `${count} ${phase === 'links' ? 'decisions linked' : 'decisions'}`)
            },
          },
        ),
      )
      await terminal.out(json ? jsonLine({ ...done, problems }) : summaryText(done))
      return done.interrupted ? interrupted : done.skipped + done.incomplete > 0 ? 1 : 0
    } catch (error) {
      if (read > 0 && !(error instanceof CstpError))
        terminal.note('What was imported until then stays; the same command continues from there.\n')
      throw error
    } finally {
      await opened?.close()
    }
  },
})
