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
