/** Limits the size of answers: a page that would be too long ends early and is marked as shortened. */

/** Maximum size of an answer, including the answer to a batch. */
export const maxAnswerBytes = 32 * 1_048_576
/** Reserved for the JSON around the list of a page. */
const reserveBytes = 65_536

/** A text in pieces: complete, or generated on a single pass. If they were joined, each part appended later would copy the text again. */
export type Pieces = readonly string[] | Generator<string>

/** A result that is already JSON. It is sent as it is, and parsed only for callers in this process. */
export class JsonText {
  readonly pieces: Pieces

  constructor(pieces: Pieces) {
    this.pieces = pieces
  }

  text(): string {
    const [first, ...rest] = this.pieces
    return rest.length === 0 ? (first ?? '') : first + rest.join('')
  }

  value(): unknown {
    return JSON.parse(this.text())
  }
}

/** Describes a result that is a page of a list. */
export interface Page {
  /** The field with the list. */
  list: string
  /** Other fields that change if the page ends early, such as the start of the next page. */
  after?(last: never, next: never): object
}

/** Whether a text, given in pieces, exceeds the maximum answer size in UTF-8. */
export function isTooLong(pieces: readonly string[], most = maxAnswerBytes): boolean {
  let units = 0
  for (const piece of pieces) units += piece.length
  // A UTF-16 code unit takes at most three bytes.
  return units * 3 > most && pieces.reduce((total, piece) => total + Buffer.byteLength(piece), 0) > most
}

const textOf = (value: unknown): string => (value instanceof JsonText ? value.text() : JSON.stringify(value))

/** A page as JSON, cut to the maximum answer size. Entries of the list may be JSON already. */
export function printPage(result: unknown, { list, after }: Page, most = maxAnswerBytes): JsonText {
  const { [list]: entries, ...rest } = result as Record<string, never[]>
  const texts = entries!.map(textOf)
  const print = (shown: readonly string[], members: object) => {
    const end = JSON.stringify(members).slice(1)
    const separated = shown.flatMap((text, at) => (at === 0 ? [text] : [',', text]))
    return [`{"${list}":[`, ...separated, end === '}' ? ']}' : `],${end}`]
  }
  const whole = print(texts, rest)
  if (!isTooLong(whole, most)) return new JsonText(whole)
  let left = most - Math.min(reserveBytes, most / 2) - Buffer.byteLength(JSON.stringify(rest))
  let count = 0
  for (const text of texts) {
    left -= Buffer.byteLength(text) + 1
    // Always keep the first entry: with empty pages, paging would never end.
    if (left < 0 && count > 0) break
    count++
  }
  if (count === texts.length) return new JsonText(whole)
  const members = { ...rest, ...after?.(entries![count - 1]!, entries![count]!), shortened: true }
  return new JsonText(print(texts.slice(0, count), members))
}
