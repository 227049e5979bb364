/** The changelog: released entries unchanged, and above them an entry made of the pending changesets. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { version } from '../core/version.ts'

const root = join(import.meta.dir, '../..')
const folder = join(root, '.changeset')
const title = '# Changes\n\nWhat a reader of cstp and of `@cstp/client` wants to know; both have the same version.\n'

/** Paths of the pending changesets, ordered by name. */
export async function changesets(): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md') && name !== 'README.md')
  return names.sort().map((name) => join(folder, name))
}

/** Kinds of changes before the first release, by the first digit of the changeset's name. */
const subjects: Record<string, string> = {
  '1': 'Decisions and precedents',
  '2': 'Policy',
  '3': 'Learning',
  '4': 'Models and clients',
  '5': 'Models and clients',
  '6': 'Evidence',
  '7': 'Operation',
  '8': 'Documentation',
}
const bumps: Record<string, string> = { major: 'Breaking changes', minor: 'Added', patch: 'Fixed' }

/** The heading for a changeset: its subject, or else the kind of version bump. Null for the introduction of the entry. */
export function kindOf(name: string, changeset: string): string | null {
  if (name.startsWith('0')) return null
  return (
    subjects[name.charAt(0)] ?? bumps[/^---\n[^\n]*: (major|minor|patch)$/m.exec(changeset)?.[1] ?? ''] ?? 'Changed'
  )
}

/** A section for a changeset: the first sentence is the heading, and links are made relative to the root. */
export function section(changeset: string): string {
  const text = changeset.replace(/^---\n(?:[\s\S]*?\n)?---\n/, '').trim()
  const end = /[.?!](?=\s|$)/.exec(text)
  const heading = end ? text.slice(0, end.index + 1) : text
  const rest = text.slice(heading.length)
  return `#### ${heading.replace(/\s+/g, ' ').replace(/\.$/, '')}\n\n${rest.replaceAll('](../', '](').trim()}`.trim()
}

/** The text from the first released entry on; empty if nothing was released. */
export const released = (changelog: string): string =>
  /^## \d[^\n]*, \d{4}-\d\d-\d\d$[\s\S]*/m.exec(changelog)?.[0] ?? ''

/** Whether this version has a dated entry. */
export const isReleased = (changelog: string, one: string): boolean => released(changelog).includes(`## ${one}, `)

/** The changelog with a new entry of these sections above the released ones. */
export function withEntry(changelog: string, heading: string, sections: readonly string[]): string {
  const entry = sections.length > 0 ? `## ${heading}\n\n${sections.join('\n\n')}\n` : ''
  return [title, entry, released(changelog)].filter(Boolean).join('\n')
}

export const readChangelog = (): Promise<string> => readFile(join(root, 'CHANGELOG.md'), 'utf8').catch(() => '')

/** The pending changesets as one text for each kind, with its sections. */
export async function sections(): Promise<string[]> {
  const kinds = new Map<string | null, string[]>()
  for (const path of await changesets()) {
    const text = await readFile(path, 'utf8')
    const kind = kindOf(basename(path), text)
    kinds.set(kind, [...(kinds.get(kind) ?? []), section(text)])
  }
  return [...kinds].map(([kind, texts]) =>
    [...(kind === null ? [] : [`### ${kind}`]), ...texts.map((text) => (kind === null ? text.slice(1) : text))].join(
      '\n\n',
    ),
  )
}

/** The text of `CHANGELOG.md`. */
export async function changelog(): Promise<string> {
  const now = await readChangelog()
  return withEntry(now, isReleased(now, version) ? 'Unreleased' : version, await sections())
}
