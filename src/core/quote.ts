/** Makes text by others safe to show: on one line, without control characters, and quoted so that Markdown sees no structure. */

/** Terminal escape sequences: CSI, OSC and similar, and single letters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes them
const ansi = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b(?:[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g
/** Control characters and invisible ones: zero-width, direction, tags, variation selectors, fillers, private use. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu

/** The text on one line, without control characters, escape sequences and invisible characters. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(ansi, ' ')
    .replace(/[\s\x85]+/g, ' ')
    .replace(unseen, '')
    .replace(/ {2,}/g, ' ')
    .trim()

/** Characters that a reader can't see, or that change the order of what he sees. Joiners and selectors within an emoji are visible in it. */
const hiddenFromReader =
  /(?![\t\n]|\r\n|(?<=\p{Extended_Pictographic})\uFE0F|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu

/** The text with each invisible or reordering character as its code point, such as `⟨U+202E⟩`. */
export const visibleText = (text: string): string =>
  text
    .toWellFormed()
    .replace(hiddenFromReader, (char) => `⟨U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`)

/** A copy of a JSON value with every text and key as {@link visibleText}. */
export function visibleCopy<T>(value: T): T {
  if (typeof value === 'string') return visibleText(value) as T
  if (Array.isArray(value)) return value.map(visibleCopy) as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [visibleText(key), visibleCopy(item)])) as T
}

/** Characters with a meaning inside a line in CommonMark and its common extensions; not an underscore inside a word. */
const inline = /[\\`*[\]<>&~|$@"#]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|:(?=\/\/)|(?<=www)\./giu

/** The text escaped for use within a line of Markdown: shown literally, without markup, links or quotation marks. */
export const markdownText = (text: string): string => plainText(text).replace(inline, '\\$&')

/** Cuts the text to `most` characters, between two words unless that drops half of it. A cut is shown as `…`. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const head = text.slice(0, most - 1)
  const space = /\s/.test(text[most - 1]!) ? most - 1 : head.search(/\s\S*$/)
  const cut = space > most / 2 ? head.slice(0, space).trimEnd() : head
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`
}

const maxQuoted = 300

/** The text in quotation marks for a line of Markdown, cut to 300 characters by default. */
export const quoted = (text: string, most = maxQuoted): string => `"${markdownText(shorten(plainText(text), most))}"`

const nameShape = /^(?!.*www\.)[\p{L}\p{N}]+(?:[_.:/-][\p{L}\p{N}]+)*$/iu
const maxName = 40

/** A name chosen by others: unchanged if it is one short word, else quoted. */
export const quotedName = (name: string): string =>
  name.length <= maxName && nameShape.test(name) && plainText(name) === name ? name : quoted(name)

/** JSON with control and invisible characters written as escapes: the value stays the same, and a reader can see them. */
export const visibleJson = (json: string): string =>
  json.replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, (char) =>
    [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
