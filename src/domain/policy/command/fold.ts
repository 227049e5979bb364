/** Computes what the code of one-liners says without a run: constant expressions, names, loops over literals, other names of functions. */
import { isFunction } from './calls.ts'
import { type Cursor, expression, isMark } from './expressions.ts'
import { fits } from './fold-functions.ts'
import { unknown } from './paths.ts'
import { type Token, textIn } from './tokens.ts'
import type { Language } from './wrappers.ts'

const maxNames = 100
const maxItems = 16
const maxListed = 64
const maxNested = 40

interface Folding extends Cursor {
  /** What is known of the texts of names, also where a value has other parts. */
  readonly texts: Map<string, string>
  /** What the variables of loops may be. */
  readonly loops: Map<string, string[]>
  /** Functions by the other names that the code gives them. */
  readonly functions: Map<string, string>
  nested: number
}

/** The tokens with each constant expression and known name in one text; the home folder is `~`. */
export function fold(tokens: readonly Token[], language: Language): Token[] {
  const [loops, functions] = [new Map<string, string[]>(), new Map<string, string>()]
  const known = { names: new Map(), texts: new Map(), loops, functions }
  const on = { tokens, language, ...known, failed: new Set<number>(), at: 0, depth: 0, nested: 0 }
  const out = foldUntil(on, /^$/)
  // A member by its name in a text.
  for (let at = 0; at < out.length; at++)
    if (
      out[at]!.kind === 'name' &&
      out[at + 2]?.kind === 'text' &&
      /^[\w$]+$/.test(out[at + 2]!.text) &&
      isMarkAt(out, at + 1, '[') &&
      isMarkAt(out, at + 3, ']') &&
      isMarkAt(out, at + 4, '(')
    )
      out.splice(at, 4, { kind: 'name', text: `${out[at]!.text}.${out[at + 2]!.text}` })
  // A name may be used before what gives it a meaning: `[rmtree(one) for one in …]`.
  for (const [at, one] of loops.size + functions.size > 0 ? out.entries() : []) {
    if (one.kind !== 'name') continue
    const items = loops.get(/^\w*/.exec(one.text)![0])
    out[at] = { ...one, text: functions.get(one.text) ?? one.text, ...(items && { items }) }
  }
  return out
}

/** Folds up to a token outside of brackets, or the end of the brackets around. */
function foldUntil(on: Folding, end: RegExp): Token[] {
  const out: Token[] = []
  const inner = on.nested++ > 0
  for (let depth = 0; on.at < on.tokens.length; ) {
    const one = on.tokens[on.at]!
    if (depth === 0 && one.kind !== 'text' && end.test(one.text)) break
    if (one.kind === 'mark') {
      if ('([{'.includes(one.text)) depth++
      else if (')]}'.includes(one.text) && --depth < 0 && inner) break
    }
    out.push(...next(on, one))
  }
  on.nested--
  return out
}

function next(on: Folding, one: Token): Token[] {
  if (one.kind === 'name' && on.nested < maxNested) {
    if (isMark(on, '=', 1) && !/^[=~>]$/.test(on.tokens[on.at + 2]?.text ?? '')) return assignment(on, one)
    if (one.text === 'for') return loop(on)
    rename(on, one.text)
  }
  const start = on.at
  const value = one.kind === 'mark' && !/^[\d[]/.test(one.text) ? null : expression(on)
  if (typeof value === 'string' && (on.at > start + 1 || one.kind === 'text' || value === '~'))
    return [textToken(value, one.quote)]
  if (one.kind !== 'mark' && Array.isArray(value) && value.length > 0 && value.length <= maxListed) {
    const texts = value.filter((each) => typeof each === 'string')
    if (texts.length === value.length) return listed(texts)
  }
  on.at = start + 1
  const known = one.kind === 'name' && !isMark(on, '(') ? on.texts.get(one.text) : undefined
  return [known === undefined ? one : textToken(known)]
}
const isMarkAt = (tokens: readonly Token[], at: number, text: string): boolean =>
  tokens[at]?.kind === 'mark' && tokens[at]?.text === text
const textToken = (text: string, quote = '"'): Token => ({ kind: 'text', text, quote })
const mark = (text: string): Token => ({ kind: 'mark', text })
const listed = (texts: readonly string[]): Token[] => [
  ...texts.flatMap((text, at) => [mark(at === 0 ? '[' : ','), textToken(text)]),
  mark(']'),
]

/** `name = …` */
function assignment(on: Folding, { text: name }: Token): Token[] {
  const head = on.tokens.slice(on.at, on.at + 2)
  on.at += 2
  const start = on.at
  const value = expression(on)
  on.at = start
  const right = foldUntil(on, /^[\n;,]$/)
  const [last, text] = [right.at(-1), textIn(right)]
  if (last?.kind === 'name' && isFunction(last.text)) on.functions.set(name, last.text)
  if (value !== null && fits(value) && on.names.size < maxNames) on.names.set(name, value)
  if (text !== '' && fits(text) && !text.includes(unknown) && on.texts.size < maxNames) on.texts.set(name, text)
  return [...head, ...right]
}

/** `{ execSync: name }`, `import system as name`. */
function rename(on: Folding, of: string): void {
  const [as, name, after] = on.tokens.slice(on.at + 1, on.at + 4)
  if (name?.kind !== 'name' || (as!.text !== 'as' && (as!.text !== ':' || !/^[,}]$/.test(after?.text ?? '')))) return
  if (isFunction(of)) on.functions.set(name.text, of)
}

/** `for x in ['a', 'b']`, `for (const x of ['a', 'b'])`, `for root, folders, files in os.walk('/x')`. */
function loop(on: Folding): Token[] {
  const start = on.tokens
    .slice(on.at + 1, on.at + 10)
    .findIndex(({ kind, text }) => kind === 'name' && /^(?:in|of)$/.test(text))
  const head = on.tokens.slice(on.at, on.at + Math.max(0, start) + 1)
  on.at += head.length
  if (start < 1) return head
  const over = foldUntil(on, /^(?:[:\n]|for)$/)
  const isFolder = over.some(({ kind, text }) => kind === 'name' && folders.test(text))
  const items = over
    .flatMap(({ kind, text }) => (kind === 'text' ? [text] : kind === 'name' ? (on.loops.get(text) ?? []) : []))
    .slice(0, maxItems)
    .map((one) => (isFolder ? `${one}/*` : one))
  for (const { kind, text } of items.length > 0 ? head.slice(1) : []) if (kind === 'name') on.loops.set(text, items)
  return [...head, ...over]
}
const folders = /(?:^|\.)(?:iterdir|r?glob|walk|scandir|listdir|readdir(?:Sync)?)$/
