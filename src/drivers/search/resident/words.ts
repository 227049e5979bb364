/** The words of the corpus: numbers for terms, and the few that a misspelt term is compared with. */
import type { CountedTerms, TermNumbers } from './keywords.ts'
import { wordsBySpelling } from './near-terms.ts'

export function wordNumbers() {
  const numbers = new Map<string, number>()
  const bySpelling = wordsBySpelling()

  function numberOf(word: string): number {
    const known = numbers.get(word)
    if (known !== undefined) return known
    bySpelling.add(word)
    numbers.set(word, numbers.size)
    return numbers.size - 1
  }

  return {
    find: (word: string) => numbers.get(word),
    findAll: (words: readonly string[]): TermNumbers => words.map((word) => numbers.get(word)),
    like: bySpelling.like,
    /** Counts the terms of an analysed text, in which equal ones are next to each other. */
    count(terms: string): CountedTerms {
      const words = terms === '' ? [] : terms.split(' ')
      const pairs: number[] = []
      for (let at = 0; at < words.length; ) {
        const word = words[at]!
        const start = at
        while (at < words.length && words[at] === word) at++
        pairs.push(numberOf(word), at - start)
      }
      return { pairs, length: words.length }
    },
  }
}
