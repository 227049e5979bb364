/** The documentation as an offline site with navigation and search. A compiled program contains it instead, see `src/build/main.ts`. */
import { existsSync, statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { version } from '../../core/version.ts'
import { deadLinks } from './links.ts'
import { framed, type Group, renderMarkdown, type Section, sourcePage } from './page.ts'

/** A file of the site. */
export interface SiteFile {
  type: string
  /** Text, or base64 for binary files. */
  body: string
  base64: boolean
}
export type Site = Record<string, SiteFile>

const root = join(import.meta.dir, '../../..')
const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  png: 'image/png',
}
const binary = /\.png$/

/** Pages outside `docs`, with their paths in the site. */
const others: Record<string, string> = {
  'README.md': 'index.html',
  'docs/README.md': 'pages.html',
  'CHANGELOG.md': 'changelog.html',
  'SECURITY.md': 'security.html',
  'CONTRIBUTING.md': 'contribute.html',
  'sdk/README.md': 'client.html',
}
/** Files that are copied unchanged. */
const copied = /\.(?:png|svg|json)$/
/** The client's API pages, if `bun run docs` has built them. */
const apiPath = 'api/index.html'

/** Path in the site of a file of the repository. */
function placeOf(file: string): string {
  const named = others[file]
  if (named) return named
  const inside = file.replace(/^docs\//, '')
  if (file.endsWith('.md')) return inside.replace(/\.md$/, '.html').replace(/(^|\/)README\.html$/, '$1index.html')
  return copied.test(file) ? inside : `source/${file}.html`
}

/** The navigation: each bold phrase in the list of pages begins a group. */
function groupsOf(list: string, api: boolean): Group[] {
  const groups = list.split(/\n{2,}/).flatMap((paragraph) => {
    const title = /^\*\*([^*]+)\*\*/.exec(paragraph)?.[1]
    if (title === undefined) return []
    const links = [...paragraph.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)]
    const pages = links.map(([, name = '', href = '']) => ({
      title: name.charAt(0).toUpperCase() + name.slice(1),
      path: placeOf(posix.join('docs', href)),
    }))
    return [{ title, pages }]
  })
  const client = { title: 'Client', path: 'client.html' }
  const pages = api ? [client, { title: 'Client, every export', path: apiPath }] : [client]
  const more = {
    title: 'More',
    pages: [...pages, { title: 'Changes', path: 'changelog.html' }, { title: 'Security', path: 'security.html' }],
  }
  return [...groups, more]
}

export interface SiteOptions {
  /** Include links to the client's API pages. */
  api?: boolean
  /** Further repository files that get a page, such as those linked from the client's API pages. */
  sources?: readonly string[]
}

/** @throws Error that lists the dead links */
export async function site({ api = false, sources = [] }: SiteOptions = {}): Promise<Site> {
  const below = (await readdir(join(root, 'docs'), { recursive: true }))
    .map((file) => `docs/${file.replaceAll('\\', '/')}`)
    .filter((file) => !file.startsWith('docs/api/'))
  const files: Site = {}
  const add = (path: string, body: string, base64 = false): void => {
    files[path] = { type: types[path.slice(path.lastIndexOf('.') + 1)] ?? 'text/plain; charset=utf-8', body, base64 }
  }
  for (const file of below.filter((one) => copied.test(one)))
    add(
      placeOf(file),
      (await readFile(join(root, file))).toString(binary.test(file) ? 'base64' : 'utf8'),
      binary.test(file),
    )

  const named = new Set<string>(sources)
  /** Turns a link in a page's source into a link of the site. */
  const linkedFrom =
    (file: string) =>
    (href: string): string => {
      if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(href)) return href
      const [target = '', anchor] = href.split('#')
      const path = posix.join(posix.dirname(file), target)
      const full = join(root, path)
      const isFolder = existsSync(full) && statSync(full).isDirectory()
      if (!isFolder && !copied.test(path) && !path.endsWith('.md')) named.add(path)
      const place = isFolder ? 'pages.html' : placeOf(path)
      const from = posix.dirname(placeOf(file))
      return `${posix.relative(from, place)}${anchor === undefined ? '' : `#${anchor}`}`
    }
  const groups = groupsOf(await readFile(join(root, 'docs/README.md'), 'utf8'), api)
  const sections: Section[] = []
  for (const file of [...Object.keys(others), ...below.filter((one) => one.endsWith('.md') && !(one in others))]) {
    const path = placeOf(file)
    const rendered = renderMarkdown(await readFile(join(root, file), 'utf8'), path, linkedFrom(file))
    sections.push(...rendered.sections)
    add(
      path,
      framed({ path, title: rendered.title, html: rendered.html, headings: rendered.headings, groups, version }),
    )
  }
  for (const file of named) {
    const path = placeOf(file)
    const text = await readFile(join(root, file), 'utf8').catch(() => null)
    if (text !== null) add(path, framed({ path, title: file, html: sourcePage(text, file), groups, version }))
  }
  for (const name of ['style.css', 'search.js'])
    add(`assets/${name}`, await readFile(join(import.meta.dir, name), 'utf8'))
  add('assets/index.js', `globalThis.searchIndex = ${JSON.stringify(sections)}\n`)

  const pages = new Map(
    Object.entries(files).flatMap(([path, { body }]) => (path.endsWith('.html') ? [[path, body]] : [])),
  )
  const dead = deadLinks(pages, new Set([...Object.keys(files), ...(api ? [apiPath] : [])]))
  if (dead.length > 0) throw new Error(`links of the documentation lead nowhere:\n  ${dead.join('\n  ')}`)
  return files
}
