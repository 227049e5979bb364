/** cstp export adr: keeps a folder of architecture decision records in sync with the store. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { causeOf } from '../../core/log.ts'
import { defineCommand } from '../command.ts'
import { connectionFlags, type Result, withConnection } from '../connection.ts'
import { sourceOf } from '../export-line.ts'
import { Failure } from '../failure.ts'
import { fullRecords, pages, retryWhenRateLimited } from '../pages.ts'
import { jsonLine, withProgress } from '../terminal.ts'
import { headOf, madrOf, type Neighbours, stateOf } from './write.ts'

type Row = Result<'listDecisions'>['decisions'][number]

const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|(?<!-)-+$/g, '')
    .slice(0, 60)
    .replace(/(?<!-)-+$/, '')

/** The file name that it was imported from, else its day and title. */
function fileOf(row: Row): string {
  const imported = /^adr:.*\/([\w.-]+\.md)$/i.exec(row.source_key ?? '')?.[1]
  return imported ?? `${row.date.replaceAll('-', '')}-${slugOf(headOf(row).title) || 'decision'}.md`
}

/** Names and neighbours of every decision. Equal names are numbered in order of creation. */
function placesOf(rows: readonly Row[]): Neighbours {
  const taken = new Map<string, number>()
  const named = new Map<string, { file: string; title: string }>()
  const ordered = rows.toSorted((a, b) => (a.created_at + sourceOf(a) < b.created_at + sourceOf(b) ? -1 : 1))
  for (const row of ordered) {
    const file = fileOf(row)
    const key = file.toLowerCase()
    const count = (taken.get(key) ?? 0) + 1
    taken.set(key, count)
    const unique = count === 1 ? file : file.replace(/(\.md)$/i, `-${count}$1`)
    if (count > 1) taken.set(unique.toLowerCase(), 1)
    named.set(row.id, { file: unique, title: headOf(row).title })
  }
  return {
    named,
    sources: new Map(rows.map((row) => [row.id, sourceOf(row)])),
    supersededBy: new Map(
      ordered.flatMap(({ id, links }) =>
        links
          .filter((link) => link.edge_type === 'supersedes' && link.effective)
          .map((link) => [link.target_id, id] as const),
      ),
    ),
  }
}

/** The Markdown files of the folder, each with its origin. */
async function filesOf(folder: string): Promise<Map<string, { text: string; state: ReturnType<typeof stateOf> }>> {
  const found = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = found.flatMap((one) => (one.isFile() && one.name.endsWith('.md') ? [one.name] : []))
  const read = async (name: string) => {
    const text = await readFile(join(folder, name), 'utf8')
    return [name, { text, state: stateOf(text) }] as const
  }
  return new Map(await Promise.all(names.map(read)))
}

/** @throws Failure if an exported file was edited since, or if a file to be written exists and is not from an export */
function checkFree(files: Awaited<ReturnType<typeof filesOf>>, wanted: ReadonlySet<string>): void {
  const edited = [...files].filter(([, { state }]) => state === 'edited').map(([name]) => name)
  const foreign = [...files]
    .filter(([name, { state }]) => state === 'foreign' && wanted.has(name))
    .map(([name]) => name)
  const tell = (names: readonly string[]) => `${names.slice(0, 10).join(', ')}${names.length > 10 ? ' …' : ''}`
  if (edited.length > 0)
    throw new Failure(`edited since they were exported, so nothing was written: ${tell(edited)}; move them away first`)
  if (foreign.length > 0) throw new Failure(`written by something else, so nothing was written: ${tell(foreign)}`)
}

async function put(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.tmp`
  await writeFile(part, text)
  await rename(part, path)
}

export const exportAdr = defineCommand({
  name: 'export adr',
  usage: '<folder>',
  summary: 'Write every decision as an architecture decision record (MADR 4).',
  about: [
    'One Markdown file for each decision. A later run updates the folder: changed decisions are written, files of removed decisions are deleted, and everything else is left unchanged. A file that was not written by this command, or was edited since, is never overwritten: in that case nothing is written.',
    'Fields that the format lacks (confidence, stakes, category, source) are kept in the front matter, so that cstp import adr recreates the same decisions.',
  ],
  flags: connectionFlags,
  examples: [['cstp export adr docs/decisions', 'for review in pull requests']],
  async run(run) {
    const { terminal, json } = run
    const folder = run.words[0]!
    const counts = { written: 0, unchanged: 0, removed: 0, folder }
    await withProgress(terminal, (progress) =>
      withConnection(run, async (opened) => {
        const connection = retryWhenRateLimited(opened)
        const rows: Row[] = []
        for await (const { decisions } of pages(connection)) rows.push(...decisions)
        const places = placesOf(rows)
        const wanted = new Set([...places.named.values()].map(({ file }) => file))
        const files = await filesOf(folder)
        checkFree(files, wanted)
        try {
          await mkdir(folder, { recursive: true })
          const write = async (record: DecisionRecord) => {
            const { file } = places.named.get(record.id)!
            const text = madrOf(record, places)
            if (files.get(file)?.text === text) counts.unchanged++
            else {
              await put(join(folder, file), text)
              counts.written++
            }
          }
          for (let at = 0; at < rows.length; at += 200) {
            const records = await fullRecords(
              connection,
              rows.slice(at, at + 200).map(({ id }) => id),
            )
            for (const record of records) await write(record)
            progress.show(at / rows.length, `${at + records.length} of ${rows.length} decisions`)
          }
          for (const [name, { state }] of files)
            if (state === 'ours' && !wanted.has(name)) {
              await rm(join(folder, name))
              counts.removed++
            }
        } catch (error) {
          if (error instanceof Error && 'code' in error) throw new Failure(`can't write ${folder}: ${causeOf(error)}`)
          throw error
        }
      }),
    )
    const { written, unchanged, removed } = counts
    await terminal.out(
      json ? jsonLine(counts) : `${written} written, ${unchanged} unchanged, ${removed} removed in ${folder}\n`,
    )
  },
})
