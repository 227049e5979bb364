/** Words of SQL, in the ways in which databases read it: where they differ, a text may hide a statement from one and not from another. */

/** A word in lower case, a name in quotes without them, or one character. A text or a number is only its kind. */
export interface Token {
  text: string
  kind: 'word' | 'name' | 'value' | 'sign'
}

/** Where databases differ. */
interface Dialect {
  /** `\'` does not end a text (MySQL). */
  escapes: boolean
  /** `--` begins a comment only before a blank (MySQL). */
  blank_after_dashes: boolean
  /** Comments are nested (PostgreSQL). */
  nested: boolean
  /** `#` begins a comment (MySQL). */
  hash: boolean
  /** `$tag$` encloses a text (PostgreSQL). */
  dollar: boolean
}

export interface Reading {
  tokens: Token[]
  /** Texts in dollar quotes: bodies of functions, which may run. */
  bodies: string[]
  /** Whether a text or a comment does not end. */
  open: boolean
}

/** The dialects in which this text is read in different ways. */
function dialectsOf(text: string): Dialect[] {
  const differing: [keyof Dialect, boolean][] = [
    ['escapes', text.includes('\\')],
    ['blank_after_dashes', /--\S/.test(text)],
    ['nested', text.split('/*', 3).length > 2],
    ['hash', text.includes('#')],
    ['dollar', /\$\w*\$/.test(text)],
  ]
  let all: Dialect[] = [{ escapes: false, blank_after_dashes: false, nested: true, hash: false, dollar: true }]
  for (const [name, differs] of differing)
    if (differs) all = all.flatMap((one) => [one, { ...one, [name]: !one[name] }])
  return all
}

const word = /[\p{L}_][\p{L}\p{N}_$]*/uy
const number = /\d[\w.]*/y
const tag = /\$(?:[A-Za-z_]\w*)?\$/y

const at = (expression: RegExp, text: string, from: number): string | null => {
  expression.lastIndex = from
  return expression.exec(text)?.[0] ?? null
}

/** The end of a text in quotes, after the closing one; -1 if there is none. */
function endOfQuoted(text: string, from: number, close: string, escapes: boolean): number {
  for (let end = from + 1; end < text.length; end++) {
    if (escapes && text[end] === '\\' && close !== ']') end++
    else if (text[end] === close) {
      if (text[end + 1] !== close) return end + 1
      end++
    }
  }
  return -1
}

/** The end of a comment that begins at `from`; -1 if there is none. */
function endOfComment(text: string, from: number, nested: boolean): number {
  let depth = 1
  for (let end = from + 2; end < text.length - 1; end++) {
    const two = text.slice(end, end + 2)
    if (two === '*/') {
      depth--
      end++
      if (depth === 0) return end + 1
    } else if (nested && two === '/*') {
      depth++
      end++
    }
  }
  return -1
}

const closing: Readonly<Record<string, string>> = { "'": "'", '"': '"', '`': '`', '[': ']' }

function read(text: string, { escapes, blank_after_dashes, nested, hash, dollar }: Dialect): Reading {
  const tokens: Token[] = []
  const bodies: string[] = []
  const lineEnd = (from: number): number => {
    const end = text.indexOf('\n', from)
    return end < 0 ? text.length : end
  }
  for (let here = 0; here < text.length; ) {
    const first = text[here]!
    const two = text.slice(here, here + 2)
    if (/\s/.test(first)) here++
    else if (
      (two === '--' && (!blank_after_dashes || /^--(?:\s|$)/.test(text.slice(here, here + 3)))) ||
      (hash && first === '#')
    )
      here = lineEnd(here)
    // MySQL runs what is in such a comment.
    else if (/^\/\*M?!/.test(text.slice(here, here + 4))) here += at(/\/\*M?!\d*/y, text, here)!.length
    else if (two === '/*') {
      here = endOfComment(text, here, nested)
      if (here < 0) return { tokens, bodies, open: true }
    } else if (
      closing[first] !== undefined &&
      !(first === '[' && tokens.at(-1)?.kind === 'word' && tokens.at(-1)?.text === 'array')
    ) {
      const end = endOfQuoted(text, here, closing[first], escapes)
      if (end < 0) return { tokens, bodies, open: true }
      const inner = text.slice(here + 1, end - 1)
      tokens.push(first === "'" ? { text: inner, kind: 'value' } : { text: inner.toLowerCase(), kind: 'name' })
      here = end
    } else if (dollar && at(tag, text, here) !== null) {
      const quote = at(tag, text, here)!
      const end = text.indexOf(quote, here + quote.length)
      if (end < 0) return { tokens, bodies, open: true }
      bodies.push(text.slice(here + quote.length, end))
      tokens.push({ text: '', kind: 'value' })
      here = end + quote.length
    } else {
      const name = at(word, text, here)
      const digits = name === null ? at(number, text, here) : null
      if (name !== null) tokens.push({ text: name.toLowerCase(), kind: 'word' })
      else tokens.push({ text: digits ?? first, kind: digits === null ? 'sign' : 'value' })
      here += (name ?? digits ?? first).length
    }
  }
  return { tokens, bodies, open: false }
}

/** All readings of a text. */
export const readings = (text: string): Reading[] => dialectsOf(text).map((dialect) => read(text, dialect))
