/**
 * Writes JSON values as YAML: one line a scalar, strings in double quotes. `yaml`'s own writer loses some strings and takes seven
 * times as long.
 */

// JSON.stringify leaves these as they are; YAML calls them line breaks, byte order marks or not printable.
const escaped = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/
const escapedEach = new RegExp(escaped, 'g')
/** What needs no escapes. */
const plainText = /^[ !#-[\]-~]*$/
const plainKey = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Words that YAML 1.1 or 1.2 reads as something other than text. */
const reserved = /^(?:y|yes|n|no|on|off|true|false|null)$/i
/** YAML wants longer keys marked with a `?`. */
const longestKey = 1_000

const quote = (text: string): string => {
  if (plainText.test(text)) return `"${text}"`
  const quoted = JSON.stringify(text)
  return escaped.test(quoted)
    ? quoted.replace(escapedEach, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : quoted
}

/** Keys that need no quotes, with their colon: all decisions have the same. */
const plain = new Map<string, string>()
const mostPlain = 1_000

const keyOf = (key: string): string => {
  const known = plain.get(key)
  if (known !== undefined) return known
  if (plainKey.test(key) && key.length < longestKey && !reserved.test(key)) {
    if (plain.size === mostPlain) plain.clear()
    plain.set(key, `${key}:`)
    return `${key}:`
  }
  const quoted = quote(key)
  return quoted.length < longestKey ? `${quoted}:` : `? ${quoted}\n:`
}

/**
 * The lines of a value.
 * @param before what is on its first line already
 * @param inline whether the first line is that of a dash, after which a block goes on at once
 */
function write(value: unknown, before: string, indent: string, inline: boolean): string {
  if (typeof value === 'string') return `${before} ${quote(value)}\n`
  if (typeof value !== 'object' || value === null) return `${before} ${JSON.stringify(value) ?? 'null'}\n`
  let out = ''
  // A block begins on the line of its dash, and on a new one below a key.
  let lead = inline ? `${before} ` : before === '' ? indent : `${before}\n${indent}`
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    for (const item of value) {
      out += write(item, `${lead}-`, inner, true)
      lead = indent
    }
    return out === '' ? `${before} []\n` : out
  }
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    const name = keyOf(key)
    out += write(item, lead + (name[0] === '?' ? name.replace('\n', `\n${indent}`) : name), inner, false)
    lead = indent
  }
  return out === '' ? `${before} {}\n` : out
}

/** The value as a YAML document. What JSON can't hold is written as JSON would. */
export const yamlOf = (value: unknown): string => write(value, '', '', false).replace(/^ /, '')
