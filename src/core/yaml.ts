/**
 * Writes JSON values as YAML: one line a scalar, strings in double quotes. `yaml`'s own writer loses some strings and takes seven
 * times as long.
 */

// JSON.stringify leaves these as they are; YAML calls them line breaks, byte order marks or not printable.
const escaped = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
const plainKey = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Words that YAML 1.1 or 1.2 reads as something other than text. */
const reserved = /^(?:y|yes|n|no|on|off|true|false|null)$/i
/** YAML wants longer keys marked with a `?`. */
const longestKey = 1_000

const quote = (text: string): string =>
  JSON.stringify(text).replace(escaped, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

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

function write(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []\n'
    let out = '\n'
    const inner = `${indent}  `
    for (const item of value) {
      const block = write(item, inner)
      // A block begins on the line of its dash.
      out += `${indent}-${block[0] === '\n' ? ` ${block.slice(inner.length + 1)}` : block}`
    }
    return out
  }
  if (typeof value === 'object' && value !== null) {
    let out = ''
    for (const key of Object.keys(value)) {
      const inner = (value as Record<string, unknown>)[key]
      if (inner === undefined) continue
      const line = keyOf(key).replace('\n', `\n${indent}`)
      out += `${indent}${line}${write(inner, `${indent}  `)}`
    }
    return out === '' ? ' {}\n' : `\n${out}`
  }
  if (typeof value === 'string') return ` ${quote(value)}\n`
  return ` ${JSON.stringify(value) ?? 'null'}\n`
}

/** The value as a YAML document. What JSON can't hold is written as JSON would. */
export const yamlOf = (value: unknown): string => write(value, '').replace(/^\s/, '')
