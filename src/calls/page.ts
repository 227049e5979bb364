/** The length of answers: pages that would be longer than one may be end early, and say so. */

/** Most bytes of an answer, and of the answer to a batch. */
export const maxAnswerBytes = 32 * 1_048_576
/** Kept free for what is around the list of a page. */
const reserveBytes = 65_536

/** A text in pieces: all at hand, or made as they are gone through, which is possible once. Joined they would be copied as often as there are ends. */
export type Pieces = readonly string[] | Generator<string>

/** How a result is a page of a list. */
export interface Page {
  /** The field with the list. */
  list: string
  /** What else changes if the page ends early: where the next one begins. */
  after?(last: never, next: never): object
}

/** Whether a text, given in pieces, is longer in UTF-8 than an answer may be. */
export function isTooLong(pieces: readonly string[], most = maxAnswerBytes): boolean {
  let units = 0
  for (const piece of pieces) units += piece.length
  // A unit of a string takes at most three bytes.
  return units * 3 > most && pieces.reduce((total, piece) => total + Buffer.byteLength(piece), 0) > most
}

/** A result as JSON in pieces; a page as far as an answer may be long. */
export function printPage(result: unknown, page: Page, most = maxAnswerBytes): readonly string[] {
  const text = [JSON.stringify(result)]
  if (!isTooLong(text, most)) return text
  const { [page.list]: entries, ...rest } = result as Record<string, unknown>
  const list = entries as never[]
  const texts = list.map((entry) => JSON.stringify(entry))
  const after = (count: number) => page.after?.(list[count - 1]!, list[count]!) ?? {}
  return printEntries(texts, rest, { ...page, after }, most)
}

function around(list: string, entries: readonly string[], rest: object): string[] {
  const pieces = [`{"${list}":[`]
  for (const entry of entries) pieces.push(entry, ',')
  const more = JSON.stringify(rest).slice(1)
  const end = more === '}' ? `]${more}` : `],${more}`
  // In place of the last comma.
  if (entries.length > 0) pieces[pieces.length - 1] = end
  else pieces.push(end)
  return pieces
}

/** The same for entries that are JSON already. */
export function printEntries(
  entries: readonly string[],
  rest: object,
  { list, after }: { list: string; after?(count: number): object },
  most = maxAnswerBytes,
): readonly string[] {
  const text = around(list, entries, rest)
  if (!isTooLong(text, most)) return text
  let left = most - Math.min(reserveBytes, most / 2) - Buffer.byteLength(JSON.stringify(rest))
  let count = 0
  for (const entry of entries) {
    left -= Buffer.byteLength(entry) + 1
    // The first entry always stays: a page without one would never end.
    if (left < 0 && count > 0) break
    count++
  }
  if (count === entries.length) return text
  return around(list, entries.slice(0, count), { ...rest, ...after?.(count), shortened: true })
}
