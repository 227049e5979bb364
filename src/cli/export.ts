/** cstp export: writes each decision as a line that cstp import can read. */
import { open, rename, rm } from 'node:fs/promises'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { causeOf } from '../core/log.ts'
import { exportAdr } from './adr/export.ts'
import { choice, defineCommand, value } from './command.ts'
import { type Connection, connectionFlags, withConnection } from './connection.ts'
import { importLine, sourceOf } from './export-line.ts'
import { Failure, misuse } from './failure.ts'
import { fullRecords, pages, retryWhenRateLimited } from './pages.ts'
import { jsonLine, withProgress } from './terminal.ts'

interface Sink {
  write(text: string): Promise<void>
  /** Keeps what was written if complete, else removes it. */
  close(complete: boolean): Promise<void>
}

/** A file that gets its name only once complete. */
async function openFile(path: string): Promise<Sink> {
  const part = `${path}.${process.pid}.tmp`
  const file = await open(part, 'w').catch((error: Error) => {
    throw new Failure(`can't write ${path}: ${causeOf(error)}`)
  })
  return {
    write: (text) => file.writeFile(text),
    async close(complete) {
      if (complete) await file.sync()
      await file.close()
      await (complete ? rename(part, path) : rm(part))
    },
  }
}

const nowhere: Sink = { write: async () => {}, close: async () => {} }

/** Looks up the sources of link targets by id, with a cache. */
function targetsOf(connection: Connection) {
  const known = new Map<string, string>()
  return async ({ links }: DecisionRecord): Promise<ReadonlyMap<string, string>> => {
    for (const { target_id } of links) {
      if (!known.has(target_id)) known.set(target_id, sourceOf(await connection.call('getDecision', { id: target_id })))
    }
    return known
  }
}

export const exportDecisions = defineCommand({
  name: 'export',
  summary: 'Write every decision as JSON Lines, in the format of import, as Parquet, or as decision records.',
  about: [
    'One line for each decision, oldest first, to stdout or a file. Importing them into an empty data directory creates the same decisions, with outcomes and links.',
    'Parquet needs the scope admin or audit too, since the verdicts are those of the audit trail. Its column score is 1, 0.5 or 0 for decisions that calibration counts.',
    'Not exported as JSON Lines are ids (a copy gets new ones and keeps the old ones as source), who reviewed, linked or changed a decision and when, earlier reviews and versions, and derived data. To move all of that, copy the data directory, or write its files with --yaml.',
  ],
  flags: {
    out: value('file', 'File to write; by default stdout. It gets its name when it is complete.'),
    yaml: value(
      'folder',
      'Write each decision in full to a YAML file in this folder instead, as in the data directory.',
    ),
    format: choice(
      ['jsonl', 'parquet'],
      'jsonl (the default), or parquet: decisions, outcomes and verdicts, a file each in the new folder --out.',
    ),
    ...connectionFlags,
  },
  verbs: [exportAdr],
  examples: [
    ['cstp export --out decisions.jsonl', 'from the running server'],
    ['cstp export --yaml ./copy', 'every decision in full, one file each'],
    ['cstp export --format parquet --out figures', 'for DuckDB, pandas and other data tools'],
    ['cstp export --local | gzip > decisions.jsonl.gz', 'without a server, compressed'],
  ],
  async run(run) {
    const { terminal, flags, json } = run
    const isParquet = flags.format === 'parquet'
    if (isParquet && flags.out === undefined) throw misuse('--format parquet needs --out, a new folder')
    if (flags.yaml !== undefined && (flags.out !== undefined || flags.format !== undefined))
      throw misuse('--yaml excludes --out and --format')
    const exported = await withProgress(terminal, (progress) =>
      withConnection(run, async (opened) => {
        const connection = retryWhenRateLimited(opened)
        let exported = 0
        async function* records(): AsyncGenerator<DecisionRecord[]> {
          for await (const { decisions, total } of pages(connection)) {
            // Rows of the list lack the deliberation.
            const page = await fullRecords(
              connection,
              decisions.map(({ id }) => id),
            )
            exported += page.length
            progress.show(total === 0 ? null : exported / total, `${exported} of ${total} decisions`)
            yield page
          }
        }
        if (isParquet) {
          const { exportParquet } = await import('./export-parquet.ts')
          return exportParquet(connection, flags.out!, records()).finally(progress.end)
        }
        const sink: Sink = flags.yaml
          ? nowhere
          : flags.out
            ? await openFile(flags.out)
            : { write: terminal.out, close: async () => {} }
        let complete = false
        try {
          const targets = targetsOf(connection)
          for await (const page of records()) {
            if (flags.yaml) {
              await (await import('../app/yaml-export.ts')).writeYaml(flags.yaml, page)
              continue
            }
            const lines: string[] = []
            for (const record of page) lines.push(`${JSON.stringify(importLine(record, await targets(record)))}\n`)
            await sink.write(lines.join(''))
          }
          complete = true
        } finally {
          progress.end()
          await sink.close(complete)
        }
        return exported
      }),
    )
    // Without a file, the decisions themselves go to stdout.
    const out = flags.yaml ?? flags.out
    if (out) await terminal.out(json ? jsonLine({ exported, out }) : `${exported} decisions in ${out}\n`)
  },
})
