/** Splits an architecture decision record into parts by their headings: MADR, Nygard, log4brains and relatives. */

import { lexer, type Token, type Tokens } from 'marked'
import { parseDocument } from 'yaml'
import { isObject } from '../../core/json.ts'

/** The kind of content in a part. */
export type Role =
  | 'context'
  | 'decision'
  | 'status'
  | 'date'
  | 'people'
  | 'drivers'
  | 'options'
  | 'arguments'
  | 'consequences'
  | 'links'
  | 'tags'
  | 'reasons'
  | 'review'

export interface Section {
  /** Null for a heading that no template knows. */
  role: Role | null
  heading: string
  /** The Markdown below it, without blank lines around. */
  body: string
  tokens: Token[]
}

export interface AdrParts {
  /** Without its number; empty if the record has no title. */
  title: string
  /** The YAML front matter. */
  front: Record<string, unknown>
  sections: Section[]
}

const names: Record<Role, readonly string[]> = {
  context: ['context', 'context and problem statement', 'problem statement', 'problem', 'issue', 'background'],
  decision: ['decision', 'decision outcome', 'outcome', 'solution', 'resolution', 'our decision'],
  status: ['status'],
  date: ['date', 'decision date'],
  people: ['deciders', 'decider', 'decision makers', 'decision maker', 'decision-makers', 'authors', 'author'],
  drivers: ['decision drivers', 'drivers', 'forces', 'decision criteria'],
  options: [
    ...['considered options', 'options considered', 'considered alternatives', 'alternatives considered'],
    ...['options', 'alternatives', 'positions'],
  ],
  arguments: ['pros and cons of the options', 'pros and cons', 'comparison of the options'],
  consequences: ['consequences', 'positive consequences', 'negative consequences', 'implications'],
  links: ['links', 'more information', 'related decisions', 'related', 'see also'],
  tags: ['tags'],
  reasons: ['rationale', 'justification', 'argument', 'reasons', 'reasoning'],
  review: ['review'],
}
const roles = new Map(Object.entries(names).flatMap(([role, all]) => all.map((name) => [name, role as Role])))

const comment = /<!--[\s\S]*?-->/g
const plainHeading = (text: string): string =>
  text
    .replace(comment, '')
    .replace(/^\s*\d+[.)]\s+/, '')
    .replace(/[*_`:]+/g, '')
    .replace(/\s+/g, ' ')
    .trim()
export const roleOf = (heading: string): Role | null => roles.get(plainHeading(heading).toLowerCase()) ?? null

/** A number or template prefix before a title. */
const numbering =
  /^(?:(?:architectur(?:e|al) )?decision record(?: \(ADR\))?(?:\s*[:–—-]\s*|\s+for\s+)|(?:ADR|AD)[\s_-]?\d*\s*[.:–—-]\s*|\d+\s*[.:)–—-]\s+|\d{4}\s+)/i

const bareTitle = (heading: string): string => {
  const text = heading.replace(comment, '').replace(/\s+/g, ' ').trim()
  return text.replace(numbering, '').trim() || text
}

const frontMatter = /^---[^\S\n]*\n([\s\S]*?)\n?^---[^\S\n]*(?:\n|$)/m

/** @throws Error if the YAML front matter is invalid */
function splitFront(text: string): { front: Record<string, unknown>; rest: string } {
  const found = text.startsWith('---') ? frontMatter.exec(text) : null
  if (found?.index !== 0) return { front: {}, rest: text }
  const document = parseDocument(found[1]!)
  const [error] = document.errors
  const wrong = (message: string) => new Error(`the YAML at the top: ${message.split('\n')[0]}`)
  if (error) throw wrong(error.message)
  let value: unknown
  try {
    value = document.toJS()
  } catch (cause) {
    throw wrong((cause as Error).message)
  }
  const front = isObject(value) ? value : {}
  return { front: front as Record<string, unknown>, rest: text.slice(found[0].length) }
}

/** `Status: accepted`, as a list item or a line, before or within the first part. */
const field = /^\s*(?:[-*+]\s+)?[*_]*([A-Za-z][A-Za-z -]{2,24}?)[*_]*\s*:[*_]*[^\S\n]*(\S.*)$/

/** The lines below the title: lines that name a field become parts, the others are context. */
function preamble(tokens: readonly Token[]): Section[] {
  const sections: Section[] = []
  const rest: string[] = []
  for (const line of rawOf(tokens).split('\n')) {
    const [, name, value] = field.exec(line) ?? []
    const role = name === undefined ? null : roleOf(name)
    if (role === 'status' || role === 'date' || role === 'people' || role === 'tags')
      sections.push(section(role, name!, [], value!))
    else rest.push(line)
  }
  const body = rest.join('\n')
  return body.trim() === '' ? sections : [...sections, section(null, '', [], body)]
}

const rawOf = (tokens: readonly Token[]): string => tokens.map(({ raw }) => raw).join('')
const section = (role: Role | null, heading: string, tokens: Token[], raw = rawOf(tokens)): Section => ({
  role,
  heading,
  tokens,
  body: raw.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd(),
})
const isComment = (token: Token): boolean => token.type === 'html' && token.raw.trimStart().startsWith('<!--')

/** Whether `cstp export adr` wrote it: the front matter then holds everything that the Markdown might not preserve. */
export const isOwn = (front: Record<string, unknown>): boolean =>
  typeof front.cstp === 'object' && front.cstp !== null && 'source' in front.cstp

/** The parser fails on some texts that are hardly Markdown. @throws Error if there is no front matter of ours to use instead */
function tokensOf(markdown: string, front: Record<string, unknown>): Token[] {
  try {
    return lexer(markdown).filter((token) => !isComment(token))
  } catch {
    if (isOwn(front)) return []
    throw new Error('its Markdown can’t be read')
  }
}

/** @throws Error if its YAML or Markdown can't be read */
export function readSections(markdown: string): AdrParts {
  const { front, rest } = splitFront(markdown.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n'))
  const tokens = tokensOf(rest, front)
  const first = tokens.findIndex((token) => token.type === 'heading')
  // A record without a title begins with one of the known parts.
  const titled = first !== -1 && roleOf((tokens[first] as Tokens.Heading).text) === null
  const title = titled ? (tokens[first] as Tokens.Heading).text : typeof front.title === 'string' ? front.title : ''
  const before = first === -1 ? tokens : tokens.slice(0, first)
  const after = first === -1 ? [] : tokens.slice(titled ? first + 1 : first)

  const parts: { heading: Tokens.Heading; role: Role | null; tokens: Token[] }[] = []
  const lead: Token[] = [...before]
  for (const token of after) {
    const open = parts.at(-1)
    if (token.type !== 'heading') {
      if (open) open.tokens.push(token)
      else lead.push(token)
      continue
    }
    const heading = token as Tokens.Heading
    const role = roleOf(heading.text)
    // An unknown heading of a deeper level belongs to the current part.
    if (open && role === null && heading.depth > open.heading.depth) open.tokens.push(token)
    else parts.push({ heading, role, tokens: [] })
  }
  return {
    title: bareTitle(title),
    front,
    sections: [
      ...preamble(lead),
      ...parts.map(({ heading, role, tokens }) => section(role, plainHeading(heading.text), tokens)),
    ],
  }
}

/** The items of all lists in a part, as Markdown. */
export const itemsOf = ({ tokens }: Section): string[] =>
  tokens.flatMap((token) =>
    token.type === 'list'
      ? (token as Tokens.List).items.map(({ text }) => text.trim()).filter((text) => text !== '')
      : [],
  )
