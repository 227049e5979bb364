/** JSON of others: limits on a body before it is parsed, as its values cost far more time and memory than its bytes, and what is an object. */

export const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** Shorter bodies are not checked: parsing kilobytes does no harm, while parsing megabytes of brackets takes a second. */
const uncheckedLength = 65_536
const maxDepth = 512
/** About as many values as 16 MiB of evidence has at 33 bytes each; more would block the server for seconds. */
const maxValues = 500_000

/** Index of the quote that ends the string starting at `from`. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end !== -1) {
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return text.length
}

/** The limit that a JSON text exceeds, as a sentence; null if none. */
export function exceededBound(text: string): string | null {
  if (text.length <= uncheckedLength) return null
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (unit === '"') at = endOfString(text, at + 1)
    else if (unit === ',') values++
    else if (unit === '[' || unit === '{') {
      values++
      if (++depth > maxDepth) return `the body is nested more than ${maxDepth} levels`
    } else if (unit === ']' || unit === '}') depth--
    if (values > maxValues) return `the body contains more than ${maxValues} values; send it in parts`
  }
  return null
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** A value, or the sentence that says why there is none. `isSyntax` is false if the text is only too large to parse. */
export type ParsedJson = { value: unknown } | { problem: string; isSyntax: boolean }

/** Parses a JSON text in UTF-8. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  let text: string
  try {
    text = strictUtf8.decode(bytes)
  } catch {
    return { problem: 'the body is not UTF-8', isSyntax: true }
  }
  const exceeded = exceededBound(text)
  if (exceeded !== null) return { problem: exceeded, isSyntax: false }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { problem: 'the body is not JSON', isSyntax: true }
  }
}
