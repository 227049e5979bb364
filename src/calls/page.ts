/** Limits the size of answers: a page that would be too long ends early and is marked as shortened. */

/** Maximum size of an answer, including the answer to a batch. */
export const maxAnswerBytes = 32 * 1_048_576
/** Reserved for the JSON around the list of a page. */
const reserveBytes = 65_536

/** A text in pieces: complete, or generated on a single pass. If they were joined, each part appended later would copy the text again. */
export type Pieces = readonly string[] | Generator<string>

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

/** A result as pieces of JSON; a page is cut to the maximum answer size. */
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
  // Overwrites the last comma.
  if (entries.length > 0) pieces[pieces.length - 1] = end
  else pieces.push(end)
  return pieces
}

/** Like {@link printPage} for entries that are already JSON. */
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
    // Always keep the first entry: with empty pages, paging would never end.
    if (left < 0 && count > 0) break
    count++
  }
  if (count === entries.length) return text
  return around(list, entries.slice(0, count), { ...rest, ...after?.(count), shortened: true })
}
