/** The order of near spellings, the same for every store. */
import { editDistance } from '../../../../sdk/nearest.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { NearTerm } from '../../../../sdk/storage/store.ts'

/** @param held terms of the corpus with how many decisions hold each */
export function nearestTerms(
  held: Iterable<readonly [string, number]>,
  term: string,
  max_edits: number,
  limit: number,
): NearTerm[] {
  const found: NearTerm[] = []
  for (const [known, decisions] of held) {
    const edits = editDistance(term, known, max_edits)
    if (edits <= max_edits) found.push({ term: known, edits, decisions })
  }
  return found
    .sort((a, b) => a.edits - b.edits || b.decisions - a.decisions || compareText(a.term, b.term))
    .slice(0, limit)
}

/** Words by their first letter and length: the few that a misspelt word is compared with, of all words of a corpus. */
export function wordsBySpelling() {
  const groups = new Map<string, string[]>()
  const key = (letter: string, length: number): string => `${letter}${length}`
  return {
    add(word: string): void {
      if (word === '') return
      const group = groups.get(key(word[0]!, word.length))
      if (group) group.push(word)
      else groups.set(key(word[0]!, word.length), [word])
    },
    *like(term: string, max_edits: number): Generator<string> {
      if (term === '') return
      for (let length = term.length - max_edits; length <= term.length + max_edits; length++)
        yield* groups.get(key(term[0]!, length)) ?? []
    },
  }
}
