/** What no request needs: a body is looked over before it is parsed, as its values cost far more time and memory than its bytes. */

/** Shorter bodies are left to the parser: megabytes of brackets take it a second, kilobytes do no harm. */
const parsedUnseen = 65_536
const deepest = 512
/** 16 MiB of evidence hold so many values where each takes 33 bytes; more of them would hold up the server for seconds. */
const mostValues = 500_000

/** Where the string ends whose first character stands at `from`. */
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

/** What is too much about a text of JSON, as a sentence; null where nothing is. */
export function tooMuch(text: string): string | null {
  if (text.length <= parsedUnseen) return null
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (unit === '"') at = endOfString(text, at + 1)
    else if (unit === ',') values++
    else if (unit === '[' || unit === '{') {
      values++
      if (++depth > deepest) return `the body is nested more than ${deepest} levels`
    } else if (unit === ']' || unit === '}') depth--
    if (values > mostValues) return `the body holds more than ${mostValues} values; send it in parts`
  }
  return null
}
