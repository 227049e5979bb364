/** Runs an import and reports it, whatever its source. */
import { CstpError } from '../../sdk/errors.ts'
import { type Run, toggle } from './command.ts'
import { connectionFlags, openConnection } from './connection.ts'
import type { previewOf } from './git-lines.ts'
import { type Line, nameOf, type Place } from './import-lines.ts'
import { load, type Summary } from './import-load.ts'
import { retryWhenRateLimited } from './pages.ts'
import { jsonLine, pad, plain, withProgress } from './terminal.ts'

/** Problems listed in the JSON summary at most; stderr has all of them. */
const maxProblems = 1_000
const interrupted = 130

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
export interface Source {
  lines: Iterable<Line> | AsyncIterable<Line>
  /** Files without a decision, and links without a target. */
  leftOut?: readonly { file: string; reason: string }[]
  /** Newest decisions, which a dry run shows. */
  preview?: ReturnType<typeof previewOf>
  /** Of a file: the fraction of it that was read so far, 0 to 1; null if unknown. */
  part?(): number | null
  /** Of a file: whether some of it was read. */
  begun?(): boolean
}

export const importFlags = {
  'dry-run': toggle('Check everything and report what would be imported, without a server and without writing.'),
  ...connectionFlags,
} as const

export async function runImport(run: Run<typeof importFlags>, source: Source): Promise<number> {
  const { terminal, signal, json, flags } = run
  // The signal does not close the connection, so that calls in progress complete.
  const opened = flags['dry-run'] ? null : await openConnection(run, { admin: 'always' })
  const problems: (Place & { reason: string })[] = []
  const { leftOut = [] } = source
  const partOf = (count: number): number | null =>
    Array.isArray(source.lines) ? count / source.lines.length : (source.part?.() ?? null)
  try {
    const done = await withProgress(terminal, (progress) => {
      for (const { file, reason } of leftOut) progress.note(`${plain(file)}: left out: ${plain(reason)}`)
      return load(source.lines, {
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
          const part = phase === 'links' ? (total ? count / total : null) : partOf(count)
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
    if ((source.begun?.() ?? true) && !(error instanceof CstpError))
      terminal.note('What was imported until then stays; the same command continues from there.\n')
    throw error
  } finally {
    await opened?.close()
  }
}
