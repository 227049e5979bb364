/** cstp import: decisions from JSON Lines, with their outcomes and links. */
import { stat } from 'node:fs/promises'
import { CstpError } from '../../sdk/errors.ts'
import { defineCommand } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import { Failure } from './failure.ts'
import { readLines } from './import-lines.ts'
import { load, type Summary } from './import-load.ts'
import { patient } from './pages.ts'
import { jsonLine, openProgress, plain } from './terminal.ts'

/** Most problems in the JSON summary; stderr has them all. */
const mostProblems = 1_000
const interrupted = 130

/** The bytes of a stream; where the signal aborts, a read that waits ends as well. */
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

/** The input and its size, which is not known of stdin. @throws Failure where there is no such file */
async function open(path: string): Promise<{ stream: ReadableStream<Uint8Array>; bytes: number | null }> {
  if (path === '-') return { stream: Bun.stdin.stream(), bytes: null }
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(error.code === 'ENOENT' ? `there is no file ${path}` : error.message)
  })
  if (found.isDirectory()) throw new Failure(`${path} is a folder, not a file`)
  return { stream: Bun.file(path).stream(), bytes: found.isFile() ? found.size : null }
}

/** What was done, for a person. */
export function tell(done: Summary): string {
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
    ...(incomplete > 0 ? [`${incomplete} outcomes or links left out`] : []),
    `${seconds} s`,
    `${per_second} per second`,
  ]
  const notes = [
    ...(unindexed > 0 ? [`${unindexed} still wait for their vectors; words find them already.`] : []),
    ...(dry_run ? ['Nothing was written. Which of them are stored already shows only the import itself.'] : []),
    ...(interrupted ? ['Interrupted; the same command goes on from here.'] : []),
  ]
  return `${[parts.join(', '), ...notes].join('\n')}\n`
}

export const importDecisions = defineCommand({
  name: 'import',
  usage: '<file | -> [flags]',
  summary: 'Take in decisions from JSON Lines, with their outcomes and links.',
  about: [
    'Each line is a JSON object: the parameters of recordDecision (decision, category and confidence are needed), and if you like source (its own key), date, agent, outcome (success, failure, partial or abandoned) with actual_result, lessons and notes, and links: [{"target": the source or id of another decision, "edge_type": "depends_on", "weight"?, "context"?}].',
    'Importing a file again takes nothing in twice: a known source is left as it is, save that a missing outcome or link is added. Lines without a source are known by their content. A bad line is reported with its number and skipped, and the exit status is then 1.',
    'A server needs to know you as an agent with the scope admin. The rate limit of the server is kept (--rate-limit 0 on the server lifts it; --local has none).',
  ],
  flags: {
    'dry-run': {
      kind: 'switch',
      about: 'Check every line and say what would be done, without a server and without writing.',
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
    const connection = flags['dry-run'] ? null : await openConnection(run)
    const progress = openProgress(terminal)
    const problems: { line: number; reason: string }[] = []
    let read = 0
    try {
      const done = await load(
        readLines(chunks(stream, signal), (now) => (read = now)),
        {
          connection:
            connection &&
            patient(connection, (seconds) => progress.show(null, `the server limits the rate: waiting ${seconds} s`)),
          signal,
          problem(line, reason) {
            if (problems.length < mostProblems) problems.push({ line, reason })
            progress.note(`line ${line}: ${plain(reason)}`)
          },
          progress(phase, count, total) {
            const whole = phase === 'links' ? total : bytes
            const part = whole ? (phase === 'links' ? count : read) / whole : null
            progress.show(part, `${count} ${phase === 'links' ? 'decisions linked' : 'decisions'}`)
          },
        },
      )
      progress.end()
      await terminal.out(json ? jsonLine({ ...done, problems }) : tell(done))
      return done.interrupted ? interrupted : done.skipped + done.incomplete > 0 ? 1 : 0
    } catch (error) {
      progress.end()
      if (read > 0 && !(error instanceof CstpError))
        terminal.note('What was taken in until then stays; the same command goes on from there.\n')
      throw error
    } finally {
      progress.end()
      await connection?.close()
    }
  },
})
