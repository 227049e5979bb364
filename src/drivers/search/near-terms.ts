/** Finds and ranks similar spellings, the same for every driver. */
import { editDistance } from '../../../sdk/nearest.ts'
import { compareText } from '../../../sdk/storage/fields.ts'
import type { NearTerm } from '../../../sdk/storage/search.ts'

/**
 * @param words terms of the corpus, each with the number of decisions that contain it
 * @param containing number of decisions that contain a term
 */
export function nearestTerms(
  words: Iterable<readonly [string, number]>,
  containing: (term: string) => number,
  { term, max_edits, limit }: { term: string; max_edits: number; limit: number },
): NearTerm[] {
  const near: NearTerm[] = []
  if (term === '') return near
  const decisions = containing(term)
  // Most words of a question occur in the corpus, and then no other word is looked at.
  if (max_edits === 0 || (limit === 1 && decisions > 0))
    return decisions === 0 ? [] : [{ term, edits: 0, decisions }].slice(0, limit)
  for (const [word, decisions] of words) {
    if (decisions === 0 || word[0] !== term[0] || Math.abs(word.length - term.length) > max_edits) continue
    const edits = editDistance(term, word, max_edits)
    if (edits <= max_edits) near.push({ term: word, edits, decisions })
  }
  return near
    .sort((a, b) => a.edits - b.edits || b.decisions - a.decisions || compareText(a.term, b.term))
    .slice(0, limit)
}
