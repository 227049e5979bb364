/** Finds dead links within the site, and external links that are malformed. */
import { posix } from 'node:path'

/** Addresses in examples, not meant to be opened. */
const local = /^http:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?(?:\/|$)/

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

function outside(href: string): string | null {
  if (/^(?:mailto:|data:)/.test(href)) return null
  if (!URL.canParse(href)) return 'is not an address'
  const { protocol, hostname } = new URL(href)
  if (protocol !== 'https:') return local.test(href) ? null : 'is not https'
  return /\.[a-z]{2,}$/.test(hostname) ? null : 'names no host'
}

/**
 * Every problem, as `page: link problem`.
 * @param pages HTML by path @param files other paths of the site
 */
export function deadLinks(pages: ReadonlyMap<string, string>, files: ReadonlySet<string>): string[] {
  const anchors = new Map(
    [...pages].map(([path, html]) => [
      path,
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => unescaped(id!))),
    ]),
  )
  const problemOf = (page: string, href: string): string | null => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return outside(href)
    const [target = '', anchor] = href.split('#')
    const path = target === '' ? page : posix.join(posix.dirname(page), target)
    if (!pages.has(path)) return files.has(path) ? null : 'leads to no page'
    if (anchor === undefined || anchor === '') return null
    return anchors.get(path)!.has(decodeURIComponent(anchor)) ? null : 'leads to no heading'
  }
  return [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].flatMap(([, given]) => {
      const href = unescaped(given!)
      const problem = problemOf(page, href)
      return problem === null ? [] : [`${page}: ${href} ${problem}`]
    }),
  )
}
