/** Reads a folder of architecture decision records as lines of an import. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, posix, relative, resolve, sep } from 'node:path'
import { gitText, repositoryOf } from '../../app/git/run.ts'
import { messageOf } from '../../core/log.ts'
import { Failure } from '../failure.ts'
import type { ImportLink, Line } from '../import-lines.ts'
import { type Adr, type NamedLink, readAdr } from './decision.ts'

/** A file without a decision, or a link without a target: reported, but not a failure. */
export interface LeftOut {
  file: string
  reason: string
}

const maxBytes = 1_048_576

async function markdownFiles(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new Failure(error.code === 'ENOENT' ? `there is no folder ${folder}` : messageOf(error))
    },
  )
  return found
    .filter((entry) => entry.isFile() && /\.(?:md|markdown)$/i.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.split('/').some((part) => part.startsWith('.') || part === 'node_modules'))
    .sort()
}

/** A tag made of the first words of a status: `superseded by ADR-7` gives `status:superseded`. */
export function statusTag(status: string | null): string | null {
  const word = (status ?? '')
    .toLowerCase()
    .split(/\bby\b|[.,;:()[\]–—/]|\s-\s|\d/)[0]!
    .trim()
  return word === '' || word.length > 40 ? null : `status:${word}`
}

export interface Found {
  file: string
  adr: Adr
  source: string
  links: ImportLink[]
}

/** The record that a link names: by path, file name, or number. */
function targetOf({ target }: NamedLink, from: string, all: readonly Found[]): Found | undefined {
  const path = posix.normalize(posix.join(posix.dirname(from), target.split(/[?#]/)[0]!))
  const stem = (file: string) => posix.basename(file).replace(/\.(?:md|markdown)$/i, '')
  const exact = all.find(({ file }) => file === path) ?? all.find(({ file }) => stem(file) === stem(path))
  if (exact || !/^\d+$/.test(target)) return exact
  const numbered = all.filter(
    ({ file }) => Number(/^(?:adr[-_]?)?0*(\d+)/i.exec(posix.basename(file))?.[1]) === Number(target),
  )
  return numbered.length === 1 ? numbered[0] : undefined
}

/** Fields by which a file that anyone may have written would enter somebody's scores, or reach decisions outside of its folder. */
const claims = [
  'source',
  'source_key',
  'links',
  'project',
  'pr',
  'confidence',
  'confidence_at_record',
  'outcome',
  'actual_result',
  'lessons',
  'notes',
  'basis',
  'agent',
  'recorded_by',
]

/** The import line for a record. */
export function lineOf({ adr, source, links }: Found, date: string | null, project: string | null): unknown {
  const { digest: _, ...own } = adr.own
  const status = statusTag(adr.status)
  const tags = [...new Set([...adr.tags.map((tag) => tag.slice(0, 64)), ...(status === null ? [] : [status])])]
  return {
    source,
    decision: adr.decision,
    category: null,
    confidence: null,
    ...(date !== null && { date }),
    ...(adr.people.length > 0 && { agent: adr.people.join(', ').slice(0, 256) }),
    context: adr.context,
    reasons: adr.reasons,
    alternatives_considered: adr.alternatives,
    tags,
    ...(project !== null && { project: { name: project } }),
    links,
    ...own,
  }
}

/**
 * Reads all records below the folder; references between them become links.
 * @param given.project by default that of the folder's git remote
 * @param given.trust_scores whether confidence, outcome, agent, origin, project and links are taken from the front matter
 * @throws Failure if the folder does not exist
 */
export async function readAdrFolder(
  folder: string,
  { project, trust_scores = false }: { project?: string | undefined; trust_scores?: boolean } = {},
): Promise<{ lines: Line[]; leftOut: LeftOut[] }> {
  if ((await stat(folder).catch(() => null))?.isFile()) throw new Failure(`${folder} is a file, not a folder`)
  const files = await markdownFiles(folder)
  const [remote, prefix] = await Promise.all([
    gitText(folder, 'remote', 'get-url', 'origin'),
    gitText(folder, 'rev-parse', '--show-prefix'),
  ])
  const repository = repositoryOf(remote)
  const place = repository === null ? basename(resolve(folder)) : posix.join(repository, prefix ?? '')

  const lines: Line[] = []
  const leftOut: LeftOut[] = []
  const found: Found[] = []
  const seen = new Map<string, string>()
  for (const file of files) {
    if (/template/i.test(posix.basename(file))) continue
    try {
      const path = join(folder, file)
      if ((await stat(path)).size > maxBytes) throw new Error(`is longer than ${maxBytes / 1_048_576} MiB`)
      const text = await readFile(path, 'utf8')
      const adr = readAdr(text)
      const same = seen.get(text)
      if (adr === null)
        leftOut.push({ file, reason: 'no decision record: it has no title, or neither a decision nor a status' })
      else if (same !== undefined) leftOut.push({ file, reason: `the same as ${same}` })
      else {
        seen.set(text, file)
        const claimed = trust_scores ? [] : claims.filter((name) => (adr.own[name] ?? null) !== null)
        if (claimed.length > 0) {
          leftOut.push({ file, reason: `${claimed.join(', ')} of the file: taken over only with --trust-scores` })
          adr.own = Object.fromEntries(Object.entries(adr.own).filter(([name]) => !claims.includes(name)))
        }
        const source =
          typeof adr.own.source === 'string' ? adr.own.source : `adr:${posix.join(place, file)}`.slice(0, 256)
        found.push({ file, adr, source, links: [] })
      }
    } catch (error) {
      lines.push({ file, problem: messageOf(error) })
    }
  }
  for (const one of found) {
    if ('links' in one.adr.own) continue
    for (const named of one.adr.links) {
      const other = targetOf(named, one.file, found)
      if (other === undefined) {
        leftOut.push({ file: one.file, reason: `its link to ${named.target}: there is no such record in the folder` })
        continue
      }
      const [source, target] = named.reverse ? [other, one] : [one, other]
      const known = source.links.some((link) => link.target === target.source && link.edge_type === named.edge_type)
      if (source !== target && !known && !('links' in source.adr.own))
        source.links.push({ target: target.source, edge_type: named.edge_type, weight: 1, context: null })
    }
  }
  for (const one of found) {
    const added = one.adr.date ?? fileDay(one.file) ?? (await addedOn(folder, one.file))
    lines.push({ file: one.file, value: lineOf(one, added, project ?? repository) })
  }
  return { lines, leftOut }
}

/** log4brains puts the creation day into file names. */
function fileDay(file: string): string | null {
  const [, year, month, day] = /^(\d{4})-?(\d{2})-?(\d{2})[-_]/.exec(posix.basename(file)) ?? []
  const text = `${year}-${month}-${day}`
  return year !== undefined && Number.isFinite(Date.parse(text)) ? text : null
}

/** When git first saw the file. */
async function addedOn(folder: string, file: string): Promise<string | null> {
  const times = await gitText(
    folder,
    'log',
    '--no-textconv',
    '--no-ext-diff',
    '--follow',
    '--diff-filter=A',
    '--format=%aI',
    '--',
    file,
  )
  const first = times?.split('\n').at(-1)
  return first === undefined ? null : new Date(first).toISOString()
}
