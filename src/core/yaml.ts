/**
 * Writes JSON values as YAML: one line for each scalar, strings in double quotes. The writer of `yaml` loses some strings and takes seven
 * times as long.
 */

// JSON.stringify leaves these characters alone, but in YAML they are line breaks, byte order marks or not printable.
const escaped = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/
const escapedEach = new RegExp(escaped, 'g')
/** Text without characters that need escaping. */
const plainText = /^[ !#-[\]-~]*$/
const plainKey = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Words that YAML 1.1 or 1.2 reads as something other than text. */
const reserved = /^(?:y|yes|n|no|on|off|true|false|null)$/i
/** YAML requires a `?` before longer keys. */
const longestKey = 1_000

const quote = (text: string): string => {
  if (plainText.test(text)) return `"${text}"`
  const quoted = JSON.stringify(text)
  return escaped.test(quoted)
    ? quoted.replace(escapedEach, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : quoted
}

const keyOf = (key: string): string => {
  if (plainKey.test(key) && key.length < longestKey && !reserved.test(key)) return `${key}:`
  const quoted = quote(key)
  return quoted.length < longestKey ? `${quoted}:` : `? ${quoted}\n:`
}

/**
 * The lines of a value.
 * @param before text that is already on the first line
 * @param inline whether the first line begins with a dash, after which a block continues on the same line
 */
function write(value: unknown, before: string, indent: string, inline: boolean): string {
  if (typeof value === 'string') return `${before} ${quote(value)}\n`
  if (typeof value !== 'object' || value === null) return `${before} ${JSON.stringify(value) ?? 'null'}\n`
  let out = ''
  // A block starts on the line of its dash, but on a new line after a key.
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

/** The value as a YAML document. Values that JSON can't represent are written as JSON would write them. */
export const yamlOf = (value: unknown): string => write(value, '', '', false).replace(/^ /, '')
