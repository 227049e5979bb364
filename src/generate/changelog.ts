/** The changelog: entries of released versions as they stand, above them one that is made of the changesets that wait for a release. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '../core/version.ts'

const root = join(import.meta.dir, '../..')
const folder = join(root, '.changeset')
const title = '# Changes\n\nWhat a reader of cstp and of `@cstp/client` wants to know; both have the same version.\n'

/** Paths of the changesets that wait, in the order of their names. */
export async function changesets(): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md') && name !== 'README.md')
  return names.sort().map((name) => join(folder, name))
}

/** A section of a changeset: its first sentence is the heading, and links are seen from the root. */
export function section(changeset: string): string {
  const text = changeset.replace(/^---\n(?:[\s\S]*?\n)?---\n/, '').trim()
  const end = /[.?!](?=\s|$)/.exec(text)
  const heading = end ? text.slice(0, end.index + 1) : text
  const rest = text.slice(heading.length)
  return `### ${heading.replace(/\s+/g, ' ').replace(/\.$/, '')}\n\n${rest.replaceAll('](../', '](').trim()}`.trim()
}

/** From the first released entry on; empty where nothing was released. */
export const released = (changelog: string): string =>
  /^## \d[^\n]*, \d{4}-\d\d-\d\d$[\s\S]*/m.exec(changelog)?.[0] ?? ''

/** Whether this version has a dated entry. */
export const isReleased = (changelog: string, one: string): boolean => released(changelog).includes(`## ${one}, `)

/** The changelog with these sections under this heading, above what was released. */
export function withEntry(changelog: string, heading: string, sections: readonly string[]): string {
  const entry = sections.length > 0 ? `## ${heading}\n\n${sections.join('\n\n')}\n` : ''
  return [title, entry, released(changelog)].filter(Boolean).join('\n')
}

export const readChangelog = (): Promise<string> => readFile(join(root, 'CHANGELOG.md'), 'utf8').catch(() => '')

/** The text of every changeset that waits, as a section. */
export const sections = async (): Promise<string[]> =>
  Promise.all((await changesets()).map(async (path) => section(await readFile(path, 'utf8'))))

/** The text of `CHANGELOG.md`. */
export async function changelog(): Promise<string> {
  const now = await readChangelog()
  return withEntry(now, isReleased(now, version) ? 'Unreleased' : version, await sections())
}
