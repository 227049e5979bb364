/** Text that others wrote, for those who read it next: on one line, without characters that act, and quoted so that Markdown finds no structure. */

/** Escape sequences of terminals: CSI, OSC and its kin, and single letters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const ansi = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b(?:[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g
/** Controls, and characters that are not seen: zero-width, direction, tags, variation selectors, fillers, private use. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu

/** The text on one line, without control characters, escape sequences and characters that can't be seen. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replace(ansi, ' ')
    .replace(/[\s\x85]+/g, ' ')
    .replace(unseen, '')
    .replace(/ {2,}/g, ' ')
    .trim()

/** What CommonMark and its common extensions read as more than text inside a line. An underscore inside a word is none of it. */
const inline = /[\\`*[\]<>&~|$@"#]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|:(?=\/\/)|(?<=www)\./giu

/** The text as a part of a line of Markdown: it is read as it is written, and holds no markup, link or quotation mark of its own. */
export const markdownText = (text: string): string => plainText(text).replace(inline, '\\$&')

/** The text cut to so many characters, between two words if one is not longer than half of it. A cut is shown as `…`. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const head = text.slice(0, most - 1)
  const space = /\s/.test(text[most - 1]!) ? most - 1 : head.search(/\s\S*$/)
  const cut = space > most / 2 ? head.slice(0, space).trimEnd() : head
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`
}

const maxQuoted = 300

/** The text in quotation marks, as a part of a line of Markdown; cut at 300 characters, or fewer. */
export const quoted = (text: string, most = maxQuoted): string => `"${markdownText(shorten(plainText(text), most))}"`

const nameShape = /^(?!.*www\.)[\p{L}\p{N}]+(?:[_.:/-][\p{L}\p{N}]+)*$/iu
const maxName = 40

/** A name that others chose: as it is if it is one short word, else quoted. */
export const quotedName = (name: string): string =>
  name.length <= maxName && nameShape.test(name) && plainText(name) === name ? name : quoted(name)

/** JSON in which every character that acts or can't be seen is written as its number: the value stays, and a reader sees it. */
export const visibleJson = (json: string): string =>
  json.replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, (char) =>
    [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
