/** Computes the constant expressions in the code of one-liners, so that a name or a path in pieces reads as one. */
import { homeNames, homes, homeTables } from './calls.ts'
import { characters, functions, isHome, joinPath, listOf, textOf, type Value } from './fold-functions.ts'
import type { Token } from './tokens.ts'
import type { Language } from './wrappers.ts'

type Found = { value: Value; end: number } | null

const maxText = 20_000
/** The home folder inside of a text with variables. */
const homeInText =
  /\$\{(?:process\.env\.HOME|Bun\.env\.HOME|(?:os|require\(['"]os['"]\))\.homedir\(\)|homedir\(\))\}|#\{(?:Dir\.home|ENV\[["']HOME["']\])\}|\{(?:Path\.home\(\)|os\.environ\[["']HOME["']\])\}|^\$(?:ENV\{HOME\}|HOME)/g

/** The tokens with each constant expression in one text; the home folder is `~`. */
export function fold(tokens: readonly Token[], language: Language): Token[] {
  const values = new Map<string, Value>()
  const mark = (at: number, text: string): boolean => tokens[at]?.kind === 'mark' && tokens[at].text === text
  const glues = /^(?:python|awk|ruby)$/.test(language)

  const filled = (text: string): string =>
    text
      .replace(homeInText, '~')
      .replace(/\$?#?\{\s?(\$?[A-Za-z_]\w{0,40})\s?\}|(\$[A-Za-z_]\w{0,40})/g, (whole, a?: string, b?: string) => {
        const value = values.get(a ?? b ?? '')
        return typeof value === 'string' ? value : whole
      })
  const list = (from: number, close: string): { all: Value[]; end: number } | null => {
    const mapped = maps(from) === -1 ? null : comprehension(from)
    if (mapped !== null && mark(mapped.end, close)) return { all: [mapped.value], end: mapped.end + 1 }
    const all: Value[] = []
    let at = from
    while (!mark(at, close)) {
      if (mark(at, '\n')) at++
      const one = expression(at)
      if (one === null) return null
      all.push(one.value)
      at = one.end
      while (mark(at, '\n')) at++
      if (mark(at, ',')) at++
      else if (!mark(at, close)) return null
    }
    return { all, end: at + 1 }
  }
  const call = (name: string, args: Value[]): Value | null => {
    if (/path\.(?:join|resolve)$|File\.join$|\.joinpath$/.test(name)) return joinPath(args)
    if ((homes.test(name) || homeTables.test(name)) && (args.length === 0 || isHome(args[0]))) return '~'
    const last = name.replace(/^.*(?:\.|::|->)/, '')
    return functions.find(([shape]) => shape.test(last))?.[1](args) ?? null
  }
  /** Whether a function of characters is what is mapped: `map(chr, …)`, `.map(c => String.fromCharCode(c))`, `chr(c) for c in …`. */
  const maps = (at: number): number => {
    const end = tokens
      .slice(at, at + 12)
      .findIndex((one) => /(?:^|\.)(?:chr|fromCharCode|fromCodePoint)$/.test(one.text))
    return end === -1 ? -1 : at + end
  }
  const primary = (at: number): Found => {
    const one = tokens[at]
    if (one === undefined) return null
    if (one.quote === 'qw') return { value: one.text.split(/\s+/).filter(Boolean), end: at + 1 }
    if (one.kind === 'text')
      return { value: one.quote === "'" && language !== 'python' ? one.text : filled(one.text), end: at + 1 }
    if (one.kind === 'mark') {
      if (/\d/.test(one.text)) {
        let [end, digits] = [at, '']
        while (/^\d$/.test(tokens[end]?.text ?? '') && end - at < 8) digits += tokens[end++]!.text
        const hex = digits === '0' ? /^x([\da-f]{1,6})$/i.exec(tokens[end]?.text ?? '')?.[1] : undefined
        return hex ? { value: Number.parseInt(hex, 16), end: end + 1 } : { value: Number(digits), end }
      }
      if (one.text !== '[' && one.text !== '(') return null
      const close = one.text === '[' ? ']' : ')'
      const found = list(at + 1, close)
      if (found === null) return null
      return { value: close === ')' && found.all.length === 1 ? found.all[0]! : found.all, end: found.end }
    }
    if (/^(?:f|r|b|u|rb|br|fr)$/i.test(one.text) && tokens[at + 1]?.kind === 'text') return primary(at + 1)
    if (one.text === 'new' || one.text === 'scalar') return primary(at + 1)
    if (/^(?:require|__import__|import)$/.test(one.text) && mark(at + 3, ')') && mark(at + 4, '.'))
      return primary(at + 5)
    const known = values.get(one.text)
    if (known !== undefined) return { value: known, end: at + 1 }
    if (homeNames.test(one.text) && !mark(at + 1, '(')) return { value: '~', end: at + 1 }
    const dot = one.text.lastIndexOf('.')
    const base = dot > 0 ? values.get(one.text.slice(0, dot)) : undefined
    if (mark(at + 1, '[') && homeTables.test(one.text) && isHome(tokens[at + 2]?.text) && mark(at + 3, ']'))
      return { value: '~', end: at + 4 }
    if (mark(at + 1, '{') && homeTables.test(one.text) && isHome(tokens[at + 2]?.text))
      return { value: '~', end: at + 4 }
    if (mark(at + 1, '(')) {
      if (/^(?:map|array_map)$/.test(one.text) && maps(at + 2) !== -1 && mark(maps(at + 2) + 1, ',')) {
        const of = expression(maps(at + 2) + 2)
        return of !== null && mark(of.end, ')') ? { value: listOf(characters(of.value)), end: of.end + 1 } : null
      }
      const args = list(at + 2, ')')
      const value = args === null ? null : call(one.text, base === undefined ? args.all : [base, ...args.all])
      return value === null ? null : { value, end: args!.end }
    }
    if (language !== 'perl' || !/^(?:reverse|join|pack|chr|lc|uc)$/.test(one.text)) return null
    const args: Value[] = []
    for (let next = expression(at + 1); next !== null; next = mark(next.end, ',') ? expression(next.end + 1) : null) {
      args.push(next.value)
      if (!mark(next.end, ',')) {
        const value = call(one.text, args)
        return value === null ? null : { value, end: next.end }
      }
    }
    return null
  }
  const comprehension = (at: number): Found => {
    const start = tokens.slice(at, at + 12).findIndex(({ text }) => text === 'in')
    const of = start === -1 ? null : expression(at + start + 1)
    return of === null || tokens.slice(at, at + start).some(({ text }) => /[-+^*%\d]/.test(text))
      ? null
      : { value: listOf(characters(of.value)), end: of.end }
  }
  const postfix = (from: Found): Found => {
    let found = from
    for (let steps = 0; found !== null && steps < 12; steps++) {
      const { value, end } = found
      if (mark(end, '.') && tokens[end + 1]?.kind === 'name' && !values.has(tokens[end + 1]!.text)) {
        const names = tokens[end + 1]!.text.split('.')
        let next: Value | null = value
        for (const name of names.slice(0, -1)) next = next === null ? null : call(name, [next])
        const last = names.at(-1)!
        if (next === null) return found
        if (last === 'map') {
          const mapped = maps(end + 2)
          const close = tokens
            .slice(end + 2, end + 16)
            .findIndex(({ text }, at) => /[)}]/.test(text) && end + 2 + at > mapped && !mark(end + 3 + at, ')'))
          if (
            mapped === -1 ||
            close === -1 ||
            tokens.slice(end + 2, end + 2 + close).some(({ text }) => /^[-+^*%\d]$/.test(text))
          )
            return found
          found = { value: listOf(characters(next)), end: end + 3 + close }
          continue
        }
        const args = mark(end + 2, '(') ? list(end + 3, ')') : { all: [], end: end + 2 }
        if (args === null) return found
        const result =
          last === 'join' && Array.isArray(next)
            ? call('join', [next, args.all[0] ?? (language === 'javascript' ? ',' : '')])
            : call(last, [next, ...args.all])
        if (result === null) return found
        found = { value: result, end: args.end }
      } else if (mark(end, '[')) {
        const shape = tokens.slice(end + 1, end + 10)
        const close = shape.findIndex(({ text }) => text === ']')
        const inside = shape
          .slice(0, close)
          .map(({ text }) => text)
          .join('')
        const [, a, b, step] = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/.exec(inside) ?? []
        if (close < 1 || a === undefined) return found
        let part: Value = listOf(value)
        if (b === undefined && step === undefined) part = part.at(Number(a)) ?? ''
        else {
          part = step === '-1' ? part.toReversed() : part.slice(Number(a || 0), b ? Number(b) : undefined)
          if (step !== undefined && Number(step) > 1) part = part.filter((_, at) => at % Number(step) === 0)
          if (!Array.isArray(value)) part = textOf(part)
        }
        found = { value: part, end: end + 2 + close }
      } else return found
    }
    return found
  }
  let depth = 0
  const expression = (at: number): Found => {
    if (++depth > 40) {
      depth--
      return null
    }
    let left = postfix(primary(at))
    while (left !== null) {
      const { value, end }: { value: Value; end: number } = left
      const sign = tokens[end]
      const joins =
        sign?.kind === 'mark' &&
        (sign.text === '+' ||
          (sign.text === '.' && /^(?:perl|php|lua|other)$/.test(language)) ||
          (sign.text === '/' && /^[~/]/.test(String(value))))
      const after = sign?.text === '.' && mark(end + 1, '.') ? end + 2 : end + 1
      const right = joins
        ? postfix(primary(after))
        : glues &&
            typeof value === 'string' &&
            (sign?.kind === 'text' || (sign?.kind === 'name' && homeTables.test(sign.text)))
          ? postfix(primary(end))
          : null
      if (right === null || textOf(value).length > maxText) break
      left = {
        value:
          sign?.text === '/'
            ? joinPath([value, right.value])
            : typeof value === 'number' && typeof right.value === 'number'
              ? value + right.value
              : Array.isArray(value) && Array.isArray(right.value)
                ? [...value, ...right.value]
                : textOf(value) + textOf(right.value),
        end: right.end,
      }
    }
    depth--
    return left
  }

  const out: Token[] = []
  for (let at = 0; at < tokens.length; ) {
    const one = tokens[at]!
    if (one.kind === 'name' && mark(at + 1, '=') && !/^[=~>]$/.test(tokens[at + 2]?.text ?? '')) {
      const set = expression(at + 2)
      if (set !== null && values.size < 100) values.set(one.text, set.value)
      out.push(one, tokens[at + 1]!)
      at += 2
      continue
    }
    const found = one.kind === 'mark' && one.text === '(' ? null : expression(at)
    if (
      found !== null &&
      typeof found.value === 'string' &&
      (found.end > at + 1 || one.kind === 'text' || found.value === '~')
    ) {
      out.push({ kind: 'text', text: found.value, quote: one.quote ?? '"' })
      at = found.end
    } else if (
      found !== null &&
      one.kind !== 'mark' &&
      Array.isArray(found.value) &&
      found.value.length > 0 &&
      found.value.every((each) => typeof each === 'string')
    ) {
      out.push({ kind: 'mark', text: '[' })
      for (const each of found.value as string[])
        out.push({ kind: 'text', text: each, quote: '"' }, { kind: 'mark', text: ',' })
      out.splice(-1, 1, { kind: 'mark', text: ']' })
      at = found.end
    } else {
      out.push(one)
      at++
    }
  }
  return out
}
