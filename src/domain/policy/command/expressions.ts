/** Evaluates the constant expressions in the code of one-liners, by recursive descent over its tokens. */
import { homeNames, homes, homeTables } from './calls.ts'
import { characters, fits, functions, isHome, joinPath, listOf, maxText, textOf, type Value } from './fold-functions.ts'
import type { Token } from './tokens.ts'
import type { Language } from './wrappers.ts'

/** Where the reading of code stands. What reads and finds nothing (null) leaves it where it was. */
export interface Cursor {
  readonly tokens: readonly Token[]
  readonly language: Language
  /** Values of the names that the code gave one. */
  readonly names: Map<string, Value>
  /** Where no operand was found in this expression: without it, forms that may be read in two ways take exponential time. */
  readonly failed: Set<number>
  at: number
  depth: number
}

const maxDepth = 40
/** The home folder inside of a text with variables. */
const homeInText =
  /\$\{(?:process\.env\.HOME|Bun\.env\.HOME|(?:os|require\(['"]os['"]\))\.homedir\(\)|homedir\(\))\}|#\{(?:Dir\.home|ENV\[["']HOME["']\])\}|\{(?:Path\.home\(\)|os\.environ\[["']HOME["']\])\}|^\$(?:ENV\{HOME\}|HOME)/g
const ofCharacters = /(?:^|\.)(?:chr|fromCharCode|fromCodePoint)$/
const computes = /^[-+^*%\d]$/

export const isMark = (on: Cursor, text: string, ahead = 0): boolean => {
  const one = on.tokens[on.at + ahead]
  return one?.kind === 'mark' && one.text === text
}
/** Steps over a mark, if it is the next token. */
const took = (on: Cursor, text: string): boolean => isMark(on, text) && ++on.at > 0
/** How far ahead one of the next tokens is; -1 if none is like this. */
const ahead = (on: Cursor, within: number, is: (one: Token, at: number) => boolean): number =>
  on.tokens.slice(on.at, on.at + within).findIndex(is)

function attempt(on: Cursor, read: (on: Cursor) => Value | null): Value | null {
  const start = on.at
  const value = read(on)
  if (value === null) on.at = start
  return value
}

/** Operands and what joins them. */
export function expression(on: Cursor): Value | null {
  if (on.depth >= maxDepth) return null
  if (on.depth++ === 0) on.failed.clear()
  let left = operand(on)
  for (let next = left; next !== null; next = attempt(on, () => joined(on, left!))) left = next
  on.depth--
  return left
}

function joined(on: Cursor, left: Value): Value | null {
  const sign = on.tokens[on.at]
  if (sign === undefined || !fits(left)) return null
  if (on.language === 'python' && sign.text === '%' && typeof left === 'string') {
    on.at++
    const values = operand(on)
    return values === null ? null : call('sprintf', [left, ...(Array.isArray(values) ? values : [values])])
  }
  const path = sign.kind === 'mark' && sign.text === '/' && /^[~/]/.test(String(left))
  const dot = sign.kind === 'mark' && sign.text === '.' && /^(?:perl|php|lua|other)$/.test(on.language)
  if (path || dot || isMark(on, '+')) on.at += dot && isMark(on, '.', 1) ? 2 : 1
  else if (!isBeside(on, sign, left)) return null
  const right = operand(on)
  if (right === null) return null
  if (path) return joinPath([left, right])
  if (typeof left === 'number' && typeof right === 'number') return left + right
  return Array.isArray(left) && Array.isArray(right) ? [...left, ...right] : textOf(left) + textOf(right)
}
/** Texts side by side are one text in some languages. */
const isBeside = ({ language }: Cursor, next: Token, left: Value): boolean =>
  typeof left === 'string' &&
  /^(?:python|awk|ruby)$/.test(language) &&
  (next.kind === 'text' || (next.kind === 'name' && homeTables.test(next.text)))

/** A primary with the methods and slices behind it. */
function operand(on: Cursor): Value | null {
  const start = on.at
  let value = on.failed.has(start) ? null : primary(on)
  if (value === null) on.failed.add(start)
  for (let steps = 0; value !== null && steps < 12; steps++) {
    const of: Value = value
    const next = attempt(on, () => (took(on, '.') ? method(on, of) : took(on, '[') ? slice(on, of) : null))
    if (next === null) break
    value = next
  }
  return value
}

function primary(on: Cursor): Value | null {
  const one = on.tokens[on.at]
  if (one === undefined) return null
  if (one.kind === 'name') return attempt(on, () => named(on, one.text))
  if (one.kind === 'mark') return /\d/.test(one.text) ? number(on) : attempt(on, bracketed)
  on.at++
  if (one.quote === 'qw') return one.text.split(/\s+/).filter(Boolean)
  return one.quote === "'" && on.language !== 'python' ? one.text : filled(one.text, on.names)
}
function filled(text: string, names: Cursor['names']): string {
  let left = maxText
  return text
    .replace(homeInText, '~')
    .replace(/\$?#?\{\s?(\$?[A-Za-z_]\w{0,40})\s?\}|(\$[A-Za-z_]\w{0,40})/g, (whole, a?: string, b?: string) => {
      const value = names.get(a ?? b ?? '')
      if (typeof value !== 'string' || value.length > left) return whole
      left -= value.length
      return value
    })
}

function number(on: Cursor): Value {
  let digits = ''
  while (/^\d$/.test(on.tokens[on.at]?.text ?? '') && digits.length < 8) digits += on.tokens[on.at++]!.text
  const hex = digits === '0' ? /^x([\da-f]{1,6})$/i.exec(on.tokens[on.at]?.text ?? '')?.[1] : undefined
  if (hex === undefined) return Number(digits)
  on.at++
  return Number.parseInt(hex, 16)
}

function bracketed(on: Cursor): Value | null {
  if (took(on, '[')) return list(on, ']')
  const all = took(on, '(') ? list(on, ')') : null
  return all?.length === 1 ? all[0]! : all
}

/** Values up to the closing bracket. */
function list(on: Cursor, close: string): Value[] | null {
  const mapped = attempt(on, (at) => {
    const value = comprehension(at)
    return took(at, close) ? value : null
  })
  if (mapped !== null) return [mapped]
  const all: Value[] = []
  while (!took(on, close)) {
    took(on, '\n')
    const spreads = isMark(on, '.') && isMark(on, '.', 1) && isMark(on, '.', 2)
    if (spreads) on.at += 3
    const one = expression(on)
    if (one === null || !fits(one)) return null
    all.push(...(spreads ? listOf(one) : [one]))
    while (took(on, '\n'));
    if (!took(on, ',') && !isMark(on, close)) return null
  }
  return all
}

/** `chr(c) for c in …`. */
function comprehension(on: Cursor): Value | null {
  const start = ahead(on, 12, ({ text }) => text === 'in')
  if (start === -1 || ahead(on, 12, ({ text }) => ofCharacters.test(text)) === -1) return null
  if (ahead(on, start, ({ text }) => /[-+^*%\d]/.test(text)) !== -1) return null
  on.at += start + 1
  return spelled(expression(on))
}
const spelled = (of: Value | null): Value | null => (of === null ? null : listOf(characters(of)))

function named(on: Cursor, name: string): Value | null {
  const known = on.names.get(name) ?? (homeNames.test(name) && !isMark(on, '(', 1) ? '~' : undefined)
  const skipped =
    /^(?:require|__import__|import)$/.test(name) && isMark(on, ')', 3) && isMark(on, '.', 4)
      ? 5
      : name === 'new' ||
          name === 'scalar' ||
          (/^(?:[fbu]|r|rb|br|fr)$/i.test(name) && on.tokens[on.at + 1]?.kind === 'text')
        ? 1
        : 0
  on.at += skipped || 1
  const member = on.tokens[on.at]
  if (skipped === 5 && member?.kind === 'name') {
    on.at++
    const module = on.tokens[on.at - 4]!.text.replace(/^node:/, '')
    return took(on, '(') ? called(on, `${module}.${member.text}`) : null
  }
  if (skipped > 0) return primary(on)
  if (known !== undefined) return known
  if (took(on, '(')) return /^(?:map|array_map)$/.test(name) ? mapCall(on) : called(on, name)
  if (homeTables.test(name) && isHome(on.tokens[on.at + 1]?.text) && (isMark(on, '[') || isMark(on, '{'))) {
    on.at += 3
    return '~'
  }
  return on.language === 'perl' && /^(?:reverse|join|pack|chr|lc|uc|sprintf)$/.test(name) ? bareCall(on, name) : null
}

/** A function of a known name, or a method of a known value. */
function called(on: Cursor, name: string): Value | null {
  const base = on.names.get(name.slice(0, Math.max(0, name.lastIndexOf('.'))))
  const args = list(on, ')')
  return args === null ? null : call(name, base === undefined ? args : [base, ...args])
}
function bareCall(on: Cursor, name: string): Value | null {
  const args: Value[] = []
  do {
    const one = expression(on)
    if (one === null) return null
    args.push(one)
  } while (took(on, ','))
  return call(name, args)
}
/** `map(chr, …)`. */
function mapCall(on: Cursor): Value | null {
  const by = ahead(on, 12, ({ text }) => ofCharacters.test(text))
  on.at += by + 1
  if (by === -1 || !took(on, ',')) return null
  const of = spelled(expression(on))
  return took(on, ')') ? of : null
}
function call(name: string, args: Value[]): Value | null {
  if (!fits(args)) return null
  if (/path\.(?:join|resolve)$|File\.join$|\.joinpath$/.test(name)) return joinPath(args)
  if ((homes.test(name) || homeTables.test(name)) && (args.length === 0 || isHome(args[0]))) return '~'
  const last = name.replace(/^.*(?:\.|::|->)/, '')
  return functions.find(([shape]) => shape.test(last))?.[1](args) ?? null
}

/** From behind the dot. */
function method(on: Cursor, of: Value): Value | null {
  const one = on.tokens[on.at++]
  if (one?.kind !== 'name' || on.names.has(one.text)) return null
  const names = one.text.split('.')
  const last = names.pop()!
  const value = names.reduce<Value | null>((all, name) => all && call(name, [all]), of)
  if (value === null) return null
  if (last === 'map') return mapMethod(on, value)
  const args = took(on, '(') ? list(on, ')') : []
  if (args === null) return null
  if (last !== 'join' || !Array.isArray(value)) return call(last, [value, ...args])
  return call('join', [value, args[0] ?? (on.language === 'javascript' ? ',' : '')])
}
/** `.map(c => String.fromCharCode(c))`. */
function mapMethod(on: Cursor, of: Value): Value | null {
  const by = ahead(on, 12, ({ text }) => ofCharacters.test(text))
  const close = ahead(on, 14, ({ text }, at) => /[)}]/.test(text) && at > by && !isMark(on, ')', at + 1))
  if (by === -1 || close === -1 || ahead(on, close, ({ text }) => computes.test(text)) !== -1) return null
  on.at += close + 1
  return spelled(of)
}

/** An element or a part, from behind the opening bracket. */
function slice(on: Cursor, of: Value): Value | null {
  const close = ahead(on, 9, ({ text }) => text === ']')
  const inside = on.tokens.slice(on.at, on.at + close).map(({ text }) => text)
  const [, from, to, step] = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/.exec(inside.join('')) ?? []
  if (close < 1 || from === undefined) return null
  on.at += close + 1
  const all = listOf(of)
  if (to === undefined && step === undefined) return all.at(Number(from)) ?? ''
  let part = step === '-1' ? all.toReversed() : all.slice(Number(from || 0), to ? Number(to) : undefined)
  if (Number(step) > 1) part = part.filter((_, at) => at % Number(step) === 0)
  return Array.isArray(of) ? part : textOf(part)
}
