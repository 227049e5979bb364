/** Splits the code of an interpreter into names, texts and marks. */
import { homeTables } from './calls.ts'
import { maxText } from './fold-functions.ts'
import { unknown } from './paths.ts'
import type { Language } from './wrappers.ts'

const maxTokens = 4_000

export interface Token {
  kind: 'name' | 'text' | 'mark'
  text: string
  /** The quote of a text. */
  quote?: string
  /** What the variable of a loop may be. */
  items?: readonly string[]
}

const simple: Record<string, string> = { n: '\n', t: '\t', r: '\r', '0': '\0' }

/** Names (with dots), texts and single characters. */
export function tokensOf(code: string, language: Language): Token[] {
  const tokens: Token[] = []
  const slashComments = language === 'javascript' || language === 'php'
  for (let at = 0; at < code.length && tokens.length < maxTokens; ) {
    const one = code[at]!
    if (/\s/.test(one)) {
      if (one === '\n') tokens.push({ kind: 'mark', text: '\n' })
      at++
    } else if ((one === '#' && language !== 'javascript') || (slashComments && code.startsWith('//', at))) {
      const end = code.indexOf('\n', at)
      at = end === -1 ? code.length : end
    } else if (one === '"' || one === "'" || one === '`') {
      const quote = language === 'python' && code.startsWith(one.repeat(3), at) ? one.repeat(3) : one
      let text = ''
      at += quote.length
      while (at < code.length && !code.startsWith(quote, at)) {
        if (code[at] !== '\\') text += code[at++]
        else {
          const hex = /^\\(?:x([\da-fA-F]{2})|u\{?([\da-fA-F]{2,5})\}?|([0-3][0-7]{2}))/.exec(code.slice(at, at + 10))
          text += hex
            ? String.fromCodePoint(
                hex[3] ? Number.parseInt(hex[3], 8) : Number.parseInt(hex[1] ?? hex[2]!, 16) % 0x110000,
              )
            : (simple[code[at + 1] ?? ''] ?? code[at + 1] ?? '')
          at += hex ? hex[0].length : 2
        }
      }
      at += quote.length
      tokens.push({ kind: 'text', text, quote })
    } else if (
      (language === 'ruby' && /^%[xqQwW][({[<|!]/.test(code.slice(at, at + 3))) ||
      (language === 'perl' && /^q[xqw]?[({[<|!/]/.test(code.slice(at, at + 3)) && !/[\w$.]/.test(code[at - 1] ?? ' '))
    ) {
      const shape = /^(?:%[xqQwW]|q[xqw]?)(.)/.exec(code.slice(at, at + 3))!
      const close = ({ '(': ')', '{': '}', '[': ']', '<': '>' } as Record<string, string>)[shape[1]!] ?? shape[1]!
      const end = code.indexOf(close, at + shape[0].length)
      const until = end === -1 ? code.length : end
      tokens.push({
        kind: 'text',
        text: code.slice(at + shape[0].length, until),
        quote: /x./.test(shape[0]) ? '`' : /w./i.test(shape[0]) ? 'qw' : "'",
      })
      at = until + 1
    } else {
      const name = /^[$@%A-Za-z_][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*[?!]?)*/.exec(code.slice(at, at + 200))?.[0]
      tokens.push(name === undefined ? { kind: 'mark', text: one } : { kind: 'name', text: name })
      at += name?.length ?? 1
    }
  }
  return tokens
}

export const isMark = (one: Token | undefined, text: string): boolean => one?.kind === 'mark' && one.text === text

/** The texts in folded tokens as one, the first of them if they are long; what a name of theirs holds is unknown. */
export function textIn(tokens: readonly Token[]): string {
  let text = ''
  for (const [at, one] of tokens.entries()) {
    if (text.length > maxText) break
    const [before, after] = [tokens[at - 1], tokens[at + 1]]
    if (one.kind === 'text') {
      const apart = text === '' || text.endsWith('/') || one.text.startsWith('/')
      text += !apart && (isMark(before, ',') || isMark(before, '/')) ? `/${one.text}` : one.text
    } else if (
      one.kind === 'name' &&
      !['(', ':', '='].some((mark) => isMark(after, mark)) &&
      !/^(?:f|r|b|u|rb|True|False|true|false|None|null|path|Path|pathlib\.Path|new|q|qq|qw)$/.test(one.text) &&
      !homeTables.test(one.text) &&
      !/\.(?:join|resolve|expanduser|Path|getenv|get|b64decode|from)$/.test(one.text)
    )
      text += unknown
  }
  return text
}
