/** Renders a page of the documentation from Markdown to HTML with navigation and search, and extracts its entries for the search index. */
import { Marked, type Token, type Tokens } from 'marked'

/** A group of pages in the navigation. */
export interface Group {
  title: string
  pages: { title: string; path: string }[]
}

/** Unit of the search index: the part of a page below one heading. */
export interface Section {
  page: string
  heading: string
  /** Path of the page with the anchor of the heading. */
  path: string
  text: string
}

interface Heading {
  text: string
  anchor: string
}

export interface Rendered {
  title: string
  html: string
  sections: Section[]
  /** Headings of the second level, with their anchors. */
  headings: Heading[]
}

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Plain text of a heading or paragraph, without Markdown markup. */
const plain = (text: string): string =>
  text
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]|\\(?=[|_<])/g, '')
    .replace(/\s+/g, ' ')
    .trim()

/** Characters of a section that are indexed for search. */
const longestText = 700

/** @param path of the page in the site @param linked turns a link in the source into a link of the site */
export function renderMarkdown(markdown: string, path: string, linked: (href: string) => string): Rendered {
  const used = new Map<string, number>()
  const anchors = new Map<Token, string>()
  const marked = new Marked({
    renderer: {
      heading(token: Tokens.Heading) {
        const anchor = anchors.get(token) ?? ''
        const text = this.parser.parseInline(token.tokens)
        return `<h${token.depth} id="${escaped(anchor)}"><a class="anchor" href="#${escaped(anchor)}" aria-hidden="true" tabindex="-1">#</a>${text}</h${token.depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        return `<a href="${escaped(linked(href))}">${this.parser.parseInline(tokens)}</a>`
      },
      image: ({ href, text }: Tokens.Image) => `<img src="${escaped(linked(href))}" alt="${escaped(text)}">`,
      code({ text, lang = '' }: Tokens.Code) {
        const language = lang.split(' ')[0] ?? ''
        return `<pre data-language="${escaped(language)}" tabindex="0"><code>${escaped(text)}</code></pre>\n`
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], kind: 'th' | 'td') =>
          `<tr>${cells.map(({ tokens, align }) => `<${kind}${align ? ` style="text-align:${align}"` : ''}>${this.parser.parseInline(tokens)}</${kind}>`).join('')}</tr>`
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n')
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  const tokens = marked.lexer(markdown)
  const sections: Section[] = []
  const headings: Heading[] = []
  let title = ''
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = plain(token.text)
      const base = anchorOf(heading)
      const count = used.get(base) ?? 0
      used.set(base, count + 1)
      const anchor = count === 0 ? base : `${base}-${count}`
      anchors.set(token, anchor)
      if (title === '') title = heading
      if (token.depth === 2) headings.push({ text: heading, anchor })
      sections.push({ page: title, heading, path: token.depth === 1 ? path : `${path}#${anchor}`, text: '' })
    } else {
      const section = sections.at(-1)
      if (section && section.text.length < longestText)
        section.text = `${section.text} ${plain(token.raw)}`.trim().slice(0, longestText)
    }
  }
  return { title, html: marked.parser(tokens), sections, headings }
}

/** Relative path from a page up to the root of the site. */
const upFrom = (path: string): string => '../'.repeat(path.split('/').length - 1)

export interface Frame {
  path: string
  title: string
  html: string
  headings?: readonly Heading[]
  groups: readonly Group[]
  /** Shown below the name of the site. */
  version: string
}

/** Inserts a table of contents below the title of a long page. */
function withContents(html: string, headings: readonly Heading[]): string {
  if (headings.length < 4) return html
  const items = headings.map(({ text, anchor }) => `<li><a href="#${escaped(anchor)}">${escaped(text)}</a></li>`)
  const list = `<details class="contents"><summary>On this page</summary><ul>${items.join('')}</ul></details>`
  return html.replace('</h1>', () => `</h1>\n${list}`)
}

export function framed({ path, title, html, headings = [], groups, version }: Frame): string {
  const up = upFrom(path)
  const nav = groups
    .map(({ title: name, pages }) => {
      const items = pages.map((page) => {
        const here = page.path === path ? ' aria-current="page"' : ''
        return `<li><a href="${up}${escaped(page.path)}"${here}>${escaped(page.title)}</a></li>`
      })
      return `<h2>${escaped(name)}</h2><ul>${items.join('')}</ul>`
    })
    .join('\n')
  return `<!doctype html>
<html lang="en" data-up="${up}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title === 'cstp' ? 'cstp' : `${title} · cstp`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}assets/style.css">
<script defer src="${up}assets/search.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="name" href="${up}index.html">cstp <small>${escaped(version)}</small></a>
<search><label><span class="hidden">Search</span><input id="search" type="search" placeholder="Search ( / )" autocomplete="off" role="combobox" aria-expanded="false" aria-controls="results"></label><ol id="results" hidden></ol></search>
</header>
<div class="columns">
<nav aria-label="Pages"><details open><summary>Pages</summary>
${nav}
</details></nav>
<main id="content">
${withContents(html, headings)}
</main>
</div>
</body>
</html>
`
}

/** A file of the repository with numbered lines; links to code lead here. */
export function sourcePage(text: string, path: string): string {
  const lines = text.replace(/\n$/, '').split('\n')
  const rows = lines.map((line, at) => `<span id="L${at + 1}">${escaped(line)}</span>`)
  return `<h1>${escaped(path)}</h1>\n<pre class="source" tabindex="0"><code>${rows.join('\n')}</code></pre>`
}
