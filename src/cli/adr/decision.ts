/** Parses an architecture decision record into the fields of an import line, without adding anything. */
import type { EdgeType } from '../../../sdk/schema/decision.ts'
import { isObject } from '../../core/json.ts'
import { type AdrParts, isOwn, itemsOf, type Role, readSections, type Section } from './sections.ts'

/** A link in a record, to a file or to a record number. */
export interface NamedLink {
  target: string
  edge_type: EdgeType
  /** True if the other record is the source: `superseded by`. */
  reverse: boolean
}

export interface Adr {
  title: string
  /** The record's status, on one line; null if it has none. */
  status: string | null
  date: string | null
  people: string[]
  tags: string[]
  chosen: string | null
  decision: string
  context: string | null
  reasons: { type: string; text: string }[]
  alternatives: (string | { option: string; reason: string })[]
  links: NamedLink[]
  /** Fields written by `cstp export adr` that such records don't otherwise have. */
  own: Record<string, unknown>
}

/** Maximum length of a decision or a reason. */
const longest = 10_000

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
const wrapped = /^(?:(["'`]|\*\*|__|\*|_)(.+)\1|“(.+)”|‘(.+)’|«(.+)»)$/
/** Strips enclosing quotes and emphasis, and trailing punctuation. */
function bare(text: string): string {
  const line = oneLine(text).replace(/(?<![.,;:])[.,;:]+$/, '')
  const inner = wrapped
    .exec(line)
    ?.slice(2)
    .find((one) => one !== undefined)
  return inner === undefined ? line : bare(inner)
}
const folded = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
const present = (text: string | undefined): string | null =>
  text === undefined || text.trim() === '' ? null : text.trim()

const choice = /chosen (?:option|solution|alternative)s?\s*:?\**\s*:?\s*/i
/** `Chosen option: "X", because …` with quotes of any kind; quotes inside are part of the name. */
const quotedChoice = /^(?:["“](.+?)["”]|['‘](.+?)['’]|`(.+?)`|«(.+?)»)(?=\s*(?:[,.;:(]|because\b|$))/im
const plainChoice = /^(.+?)(?=(?:,|(?<!\s))\s*because\b|[.;](?:\s|$)|$)/im
const because = /^["”'’»`*_]*\s*(?:[,.;:]\s*)?because\b:?\s*([\s\S]*)/i

const longestName = 1_000

/** The listed option that a text begins with, even if its name contains punctuation. */
function listedChoice(rest: string, options: readonly string[]): { whole: string; name: string } | null {
  const found = options.flatMap((option) => {
    const name = bare(option)
    // No name is that long, and an expression could not be.
    if (name.length > longestName) return []
    const words = name.split(' ').map((word) => RegExp.escape(word))
    const whole = new RegExp(`^["“'‘«\`*_\\s]*${words.join('\\s+')}(?![\\p{L}\\p{N}])`, 'iu').exec(rest)?.[0]
    return whole === undefined || name === '' ? [] : [{ whole, name }]
  })
  return found.sort((one, other) => other.whole.length - one.whole.length)[0] ?? null
}

/** The option that a text states as chosen, and why. @param options the options that the record lists */
export function stated(
  body: string,
  options: readonly string[] = [],
): { chosen: string; because: string | null } | null {
  const start = choice.exec(body)
  if (!start) return null
  const rest = body.slice(start.index + start[0].length)
  const listed = listedChoice(rest, options)
  const said = quotedChoice.exec(rest)?.[0] ?? (start[0].includes(':') ? plainChoice.exec(rest)?.[0] : undefined)
  const whole = listed?.whole ?? said
  if (whole === undefined) return null
  const chosen = listed?.name ?? bare(whole)
  return chosen === '' ? null : { chosen, because: present(because.exec(rest.slice(whole.length))?.[1]) }
}

/** Whether a listed option is the chosen one: the same words, or one is a prefix of the other. */
function isChosen(option: string, chosen: string): boolean {
  const [a, b] = [folded(option), folded(chosen)]
  return a !== '' && b !== '' && (a === b || a.startsWith(`${b} `) || b.startsWith(`${a} `))
}

const edges: readonly [pattern: RegExp, edge_type: EdgeType, reverse: boolean][] = [
  [/supers?[ce]+ded by|replaced by/i, 'supersedes', true],
  [/supers?[ce]+des|replaces/i, 'supersedes', false],
  [/(?:amended|refined|clarified|extended) by/i, 'refines', true],
  [/amends|refines|clarifies|extends/i, 'refines', false],
  [/depends on|requires/i, 'depends_on', false],
  [/required by/i, 'depends_on', true],
  [/conflicts with|contradicts/i, 'contradicts', false],
  [/caused by|driven by|follows from/i, 'caused_by', false],
  [/\bblocks\b/i, 'blocks', false],
  [/relat(?:es|ed) to|linked to|complements/i, 'relates_to', false],
]
const markdownLink = /\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?[^)]*\)/
const number = /\b(?:ADR|AD)?[\s#_-]*0*(\d{1,5})\b/i

/** The link in a line of the form `<verb> <record>`. */
function linkOf(line: string): NamedLink | null {
  const found = edges.flatMap(([pattern, edge_type, reverse]) => {
    const at = pattern.exec(line)
    return at ? [{ edge_type, reverse, rest: line.slice(at.index + at[0].length) }] : []
  })[0]
  if (!found) return null
  const { rest, edge_type, reverse } = found
  const file = markdownLink.exec(rest)?.[1]
  const target = file ?? number.exec(rest)?.[1] ?? /(?<![\w./-])[\w./-]+\.md\b/.exec(rest)?.[0]
  return target === undefined || /^[a-z]+:\/\//i.test(target) ? null : { target, edge_type, reverse }
}

const textOf = (value: unknown): string | null =>
  value instanceof Date
    ? value.toISOString().slice(0, 10)
    : typeof value === 'string' || typeof value === 'number'
      ? present(String(value))
      : null
const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : typeof value === 'string' ? value.split(/[,;]/) : []).flatMap((one) => {
    const text = textOf(one)
    return text === null || /^[[{].*[\]}]$/.test(text) ? [] : [oneLine(text)]
  })

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
/** A date as people write it, as YYYY-MM-DD; null if it has no day. */
export function dayOf(text: string | null): string | null {
  if (text === null) return null
  const digits = /\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b/.exec(text)
  const words =
    /\b(?:(\d{1,2})(?:st|nd|rd|th)?\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})\b/i.exec(
      text,
    )
  const [year, month, day] = digits
    ? [digits[1], digits[2], digits[3]]
    : words && (words[1] ?? words[3]) !== undefined
      ? [words[4], months.indexOf(words[2]!.toLowerCase()) + 1, words[1] ?? words[3]]
      : []
  if (year === undefined) return null
  const value = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
  const time = Date.parse(`${value}T00:00:00Z`)
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(value) ? value : null
}

/** All parts with a role, in the order of the record. */
const partsOf = ({ sections }: AdrParts, role: Role): Section[] => sections.filter((one) => one.role === role)
const bodyOf = (parts: readonly Section[]): string | null =>
  present(
    parts
      .map(({ body }) => body)
      .filter((body) => body !== '')
      .join('\n\n'),
  )

const isContents = ({ body }: Section): boolean =>
  /\]\(#/.test(body) && body.split('\n').every((line) => /^\s*$|^contents:?$|^\s*[-*+] .*\]\(#[^)]*\)\s*$/i.test(line))

const firstParagraph = (item: string): string => item.split('\n\n')[0]!

/** The alternatives with their reasons, and the reason for the chosen option. */
function optionsOf(parts: AdrParts, chosen: string | null) {
  const listed = partsOf(parts, 'options')
  const options = listed.flatMap(itemsOf).map(firstParagraph)
  const reasons = new Map<string, string>()
  for (const { tokens } of partsOf(parts, 'arguments')) {
    let name: string | null = null
    for (const token of tokens) {
      if (token.type === 'heading') name = folded(token.text)
      else if (name !== null) reasons.set(name, (reasons.get(name) ?? '') + token.raw)
    }
  }
  const reasonOf = (option: string): string | null =>
    present(reasons.get([...reasons.keys()].find((name) => isChosen(name, bare(option))) ?? ''))
  const taken = chosen === null ? -1 : options.findIndex((option) => isChosen(bare(option), chosen))
  // If the chosen option is not listed, it is unclear which were rejected.
  if (taken === -1 || options.length > 50)
    return { alternatives: [], chosenReason: null, kept: [...listed, ...partsOf(parts, 'arguments')] }
  const alternatives = options
    .filter((_, at) => at !== taken)
    .map((option) => {
      const reason = reasonOf(option)
      return reason === null ? option : { option, reason: reason.slice(0, longest) }
    })
  return { alternatives, chosenReason: reasonOf(options[taken]!), kept: [] }
}

/**
 * Reads a record in the form of MADR, Nygard or log4brains.
 * @returns null if the Markdown is not a record: it has no title, or neither a decision nor a status
 * @throws Error if its YAML or Markdown can't be read
 */
export function readAdr(markdown: string): Adr | null {
  const parts = readSections(markdown)
  const { front, title } = parts
  const decided = bodyOf(partsOf(parts, 'decision'))
  const status = textOf(front.status) ?? bodyOf(partsOf(parts, 'status'))
  const said = parts.sections.some(({ role, body }) => (role === null || role === 'context') && body !== '')
  const own = isOwn(front)
  if (!own && (title === '' || (decided === null && (status === null || !said)))) return null
  // Skip the template itself.
  if (!own && /^[[{]/.test(title)) return null

  const listed = partsOf(parts, 'options').flatMap(itemsOf)
  const found = stated(decided ?? '', listed.map(firstParagraph))
  const { alternatives, chosenReason, kept } = optionsOf(parts, found?.chosen ?? null)
  const whole = decided === null ? title : `${title}\n\n${decided}`
  const fits = whole.length <= longest
  const decision = fits ? whole : `${title}\n\n${found ? found.chosen : decided!.split('\n\n')[0]!}`.slice(0, longest)

  const named = (heading: string, body: string | null) =>
    body === null ? [] : [heading === '' ? body : `### ${heading}\n\n${body}`]
  const context = [
    ...parts.sections.flatMap((one) =>
      one.role === null && !isContents(one) && one.body !== '' ? (one.heading === '' ? named('', one.body) : []) : [],
    ),
    ...named('', bodyOf(partsOf(parts, 'context'))),
    ...(fits ? [] : named('Decision', decided)),
    ...kept.flatMap((one) => named(one.heading, present(one.body))),
    ...partsOf(parts, 'consequences').flatMap((one) => named(one.heading, present(one.body))),
    ...parts.sections.flatMap((one) =>
      one.role === null && one.heading !== '' ? named(one.heading, present(one.body)) : [],
    ),
    ...partsOf(parts, 'links').flatMap((one) =>
      one.body.split('\n').every((line) => line.trim() === '' || linkOf(line))
        ? []
        : named(one.heading, present(one.body)),
    ),
  ].join('\n\n')

  const drivers = partsOf(parts, 'drivers').flatMap(itemsOf)
  const why = [
    ...(found?.because ? [{ type: 'rationale', text: found.because }] : []),
    ...partsOf(parts, 'reasons').flatMap(({ body }) => (body === '' ? [] : [{ type: 'rationale', text: body }])),
    ...(chosenReason === null ? [] : [{ type: 'rationale', text: chosenReason }]),
    ...drivers.map((text) => ({ type: 'driver', text })),
  ]
  const lines = [...(status ?? '').split('\n'), ...partsOf(parts, 'links').flatMap(({ body }) => body.split('\n'))]
  const { cstp } = front
  return {
    title,
    status: status === null ? null : oneLine(status.replace(/\[([^\]\n]*)\]\([^)\n]*\)/g, '$1')),
    date: dayOf(textOf(front.date) ?? bodyOf(partsOf(parts, 'date')) ?? status),
    people: [
      ...listOf(front['decision-makers'] ?? front.deciders),
      ...partsOf(parts, 'people').flatMap(({ body }) => listOf(oneLine(body.replace(/^[^\S\n]*[-*+]\s+/gm, ', ')))),
    ].filter((one) => one !== ''),
    tags: [...listOf(front.tags), ...partsOf(parts, 'tags').flatMap(({ body }) => listOf(oneLine(body)))],
    chosen: found?.chosen ?? null,
    decision,
    context: present(context),
    reasons: why.slice(0, 100).map(({ type, text }) => ({ type, text: text.slice(0, longest) })),
    alternatives,
    links: lines.flatMap((line) => linkOf(line) ?? []),
    own: isObject(cstp) ? cstp : {},
  }
}
