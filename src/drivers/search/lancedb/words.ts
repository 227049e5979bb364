/** The words of a segment and the number of its decisions that contain each: a table of counts, in which removed decisions are negative counts. */
type Arrow = typeof import('apache-arrow')

export const wordsTable = (segment: string): string => `${segment}_words`

/** What possible misspellings of a word have in common with it, apart from their length: the first letter. */
const spellingOf = (first: string, length: number): string => `${first}${length}`

export function spellingsNear(term: string, max_edits: number): string[] {
  if (term === '') return []
  const from = Math.max(1, term.length - max_edits)
  return Array.from({ length: term.length + max_edits - from + 1 }, (_, more) => spellingOf(term[0]!, from + more))
}

export function wordsOf(arrow: Arrow, counts: readonly (readonly [string, number])[]) {
  const { Float64, Table, Utf8, vectorFromArray } = arrow
  return new Table({
    word: vectorFromArray(
      counts.map(([word]) => word),
      new Utf8(),
    ),
    spelling: vectorFromArray(
      counts.map(([word]) => spellingOf(word[0]!, word.length)),
      new Utf8(),
    ),
    decisions: vectorFromArray(
      counts.map(([, decisions]) => decisions),
      new Float64(),
    ),
  })
}

/** Adds, for every distinct term of a text, `by` to its count. */
export function count(counts: Map<string, number>, terms: string, by: 1 | -1): void {
  if (terms === '') return
  let last = ''
  // Equal terms are adjacent.
  for (const term of terms.split(' ')) {
    if (term === last) continue
    last = term
    counts.set(term, (counts.get(term) ?? 0) + by)
  }
}
