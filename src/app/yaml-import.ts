/** Reads decision files from a folder: those of the embedded store, and YAML files of other programs. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { parseDocument } from 'yaml'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { messageOf } from '../core/log.ts'
import { parseRecord } from '../drivers/store/sqlite/parse.ts'

const maxBytes = 1_048_576

export type DecisionFile = { file: string } & (
  | { record: DecisionRecord }
  /** A file of another program. */
  | { other: Record<string, unknown> }
  | { problem: string }
)

async function readOne(
  path: string,
): Promise<{ record: DecisionRecord } | { other: Record<string, unknown> } | { problem: string }> {
  if ((await stat(path)).size > maxBytes) return { problem: `is longer than ${maxBytes / 1_048_576} MiB` }
  const content = await readFile(path)
  const ours = parseRecord(content, basename(path).replace(/\.ya?ml$/i, ''))
  if ('record' in ours) return ours
  if (ours.isNewer) return { problem: ours.problem }
  const document = parseDocument(content.toString('utf8'), { prettyErrors: false })
  const [error] = document.errors
  if (error) return { problem: ours.problem }
  const value: unknown = document.toJS()
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: 'is not a decision: expected a map' }
  // It has our fields, so its problem is reported as that of one of our files.
  return 'created_at' in value && 'review_history' in value
    ? { problem: ours.problem }
    : { other: value as Record<string, unknown> }
}

/** Every YAML file below the folder, in order of name. @throws if the folder can't be read */
export async function* readDecisionFiles(folder: string): AsyncGenerator<DecisionFile> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found
    .filter((entry) => entry.isFile() && /\.ya?ml$/i.test(entry.name) && !entry.name.startsWith('.'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
  for (const file of files) {
    try {
      yield { file, ...(await readOne(join(folder, file))) }
    } catch (error) {
      yield { file, problem: messageOf(error) }
    }
  }
}
