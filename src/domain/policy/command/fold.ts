/** Computes the constant expressions in the code of one-liners, so that a name or a path in pieces reads as one. */
import { type Cursor, expression, isMark } from './expressions.ts'
import type { Token } from './tokens.ts'
import type { Language } from './wrappers.ts'

/** The tokens with each constant expression in one text; the home folder is `~`. */
export function fold(tokens: readonly Token[], language: Language): Token[] {
  const on: Cursor = { tokens, language, names: new Map(), at: 0, depth: 0 }
  const out: Token[] = []
  while (on.at < tokens.length) {
    const one = tokens[on.at]!
    if (one.kind === 'name' && isMark(on, '=', 1) && !/^[=~>]$/.test(tokens[on.at + 2]?.text ?? '')) {
      const start = on.at + 2
      on.at = start
      const set = expression(on)
      on.at = start
      if (set !== null && on.names.size < 100) on.names.set(one.text, set)
      out.push(one, tokens[start - 1]!)
      continue
    }
    const start = on.at
    const value = one.kind === 'mark' && one.text === '(' ? null : expression(on)
    if (typeof value === 'string' && (on.at > start + 1 || one.kind === 'text' || value === '~'))
      out.push({ kind: 'text', text: value, quote: one.quote ?? '"' })
    else if (
      one.kind !== 'mark' &&
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((each) => typeof each === 'string')
    ) {
      const items = value.flatMap((text): Token[] => [
        { kind: 'mark', text: ',' },
        { kind: 'text', text, quote: '"' },
      ])
      out.push({ kind: 'mark', text: '[' }, ...items.slice(1), { kind: 'mark', text: ']' })
    } else {
      out.push(one)
      on.at = start + 1
    }
  }
  return out
}
