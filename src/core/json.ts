/** JSON: a stable text of a value, and bounds on a body before it is parsed, as its values cost far more time and memory than its bytes. */

/** JSON of a JSON value with sorted keys: equal for equal values. */
export const stableJson = (value: unknown): string => JSON.stringify(sorted(value))

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(sorted)
  // Without a prototype, so that any name is a key.
  const copy: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(value).sort()) copy[key] = sorted((value as Record<string, unknown>)[key])
  return copy
}

/** Shorter bodies are parsed unchecked: parsing megabytes of brackets takes a second, kilobytes do no harm. */
const uncheckedLength = 65_536
const maxDepth = 512
/** 16 MiB of evidence hold so many values if each takes 33 bytes; more would block the server for seconds. */
const maxValues = 500_000

/** The index of the quote that ends the string which begins at `from`. */
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

/** Which bound a text of JSON exceeds, as a sentence; null if none. */
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
    if (values > maxValues) return `the body holds more than ${maxValues} values; send it in parts`
  }
  return null
}
