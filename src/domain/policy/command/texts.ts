/** Texts that programs make of others: decoded, filled in, or with other characters. */
const escapes: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  e: '\x1b',
  "'": "'",
  '"': '"',
}
/** Backslashes as `$'…'` and `echo -e` read them. */
export const unescaped = (text: string): string =>
  text.replace(
    /\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|0?([0-7]{1,3})|([ntrabfve\\'"]))/g,
    (_, hex, unicode, octal, letter) =>
      letter !== undefined
        ? escapes[letter]!
        : // What ends a word for xargs -0 ends a line here.
          String.fromCharCode(Number.parseInt(hex ?? unicode ?? octal, octal === undefined ? 16 : 8) || 10),
  )

export function printf([format = '', ...values]: readonly string[]): string {
  const rest = [...values]
  let text = ''
  do {
    text += unescaped(format).replace(/%(?:%|[-+ #0]*\d{0,3}(?:\.\d{0,3})?([sdiubqxXoc]))/g, (whole, kind) =>
      kind === undefined ? '%' : whole && (kind === 'b' ? unescaped(rest.shift() ?? '') : (rest.shift() ?? '')),
    )
  } while (rest.length > 0 && /%[^%]/.test(format) && text.length < 65_536)
  return text
}

const printable = (text: string): string | null =>
  [...text].some((one) => one < '\t' || one === '\ufffd') ? null : text

/** Decodes base64, also in the form for UTF-16 that PowerShell takes. */
export function fromBase64(text: string): string | null {
  const clean = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(clean)) return null
  const bytes = Buffer.from(clean, 'base64')
  const wide = bytes.length > 3 && bytes[1] === 0 && bytes[3] === 0
  return printable(wide ? bytes.toString('utf16le') : bytes.toString('utf8'))
}
/** Decodes hexadecimal digits. */
export const fromHex = (text: string): string | null => {
  const clean = text.replace(/\s|0x|\\x/g, '')
  return /^(?:[0-9A-Fa-f]{2})+$/.test(clean) ? printable(Buffer.from(clean, 'hex').toString('utf8')) : null
}

export const rot13 = (text: string): string =>
  text.replace(/[a-z]/gi, (one) => {
    const code = one.charCodeAt(0)
    const first = code < 97 ? 65 : 97
    return String.fromCharCode(((code - first + 13) % 26) + first)
  })

const range = (set: string): string =>
  set.replace(/(\w)-(\w)/g, (whole, from: string, to: string) => {
    const [low, high] = [from.charCodeAt(0), to.charCodeAt(0)]
    return high - low > 0 && high - low < 64
      ? String.fromCharCode(...Array.from({ length: high - low + 1 }, (_, at) => low + at))
      : whole
  })

export function translated(
  text: string,
  [from = '', to = '']: readonly string[],
  flags: readonly string[],
): string | null {
  if (/^\[:/.test(from) || flags.includes('-c')) return null
  const [left, right] = [range(unescaped(from)), range(unescaped(to))]
  if (flags.includes('-d')) return [...text].filter((one) => !left.includes(one)).join('')
  if (right === '') return null
  return [...text].map((one) => (left.includes(one) ? (right[left.indexOf(one)] ?? right.at(-1)!) : one)).join('')
}

/** What `sed` makes of a text by substitutions of plain text. */
export function substituted(text: string, args: readonly string[], flags: readonly string[]): string | null {
  if (args.length !== 1 || flags.some((one) => !/^-(?:e|E|r)/.test(one))) return null
  let left = text
  for (const one of args[0]!.split(';')) {
    const [, by, from = '', to = '', g] =
      /^\s*s([/|#,!@])((?:(?!\1).){1,80})\1((?:(?!\1).){0,80})\1(g?)\s*$/.exec(one) ?? []
    if (by === undefined || /[\\.*+?[\]^$(){}]/.test(from) || /[\\&]/.test(to)) return null
    left = left
      .split('\n')
      .map((line) => (g === 'g' ? line.replaceAll(from, () => to) : line.replace(from, () => to)))
      .join('\n')
  }
  return left
}
