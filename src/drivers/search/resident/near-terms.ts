/** Finds and ranks similar spellings, the same for every driver. */
import { editDistance } from '../../../../sdk/nearest.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { NearTerm } from '../../../../sdk/storage/search.ts'

/** @param held terms of the corpus, each with the number of decisions that contain it */
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

/** A bit set of the letters of a word. */
function lettersOf(word: string): number {
  let letters = 0
  for (let at = 0; at < word.length; at++) letters |= 1 << (word.charCodeAt(at) & 31)
  return letters
}

function bitsOf(set: number): number {
  let bits = 0
  for (let left = set; left !== 0; left &= left - 1) bits++
  return bits
}

/** Groups the words of a corpus by first letter and length, so that a misspelt word is compared with only a few of them. */
export function wordsBySpelling() {
  const groups = new Map<string, { words: string[]; letters: number[] }>()
  const key = (letter: string, length: number): string => `${letter}${length}`
  return {
    add(word: string): void {
      if (word === '') return
      const name = key(word[0]!, word.length)
      const group = groups.get(name) ?? { words: [], letters: [] }
      groups.set(name, group)
      group.words.push(word)
      group.letters.push(lettersOf(word))
    },
    /** Candidates, among them every word with the same first letter within `max_edits`. */
    *like(term: string, max_edits: number): Generator<string> {
      if (term === '') return
      const own = lettersOf(term)
      for (let length = term.length - max_edits; length <= term.length + max_edits; length++) {
        const { words, letters } = groups.get(key(term[0]!, length)) ?? { words: [], letters: [] }
        // An edit replaces at most one letter by another, which changes at most two bits.
        for (let at = 0; at < words.length; at++) if (bitsOf(letters[at]! ^ own) <= 2 * max_edits) yield words[at]!
      }
    },
  }
}
