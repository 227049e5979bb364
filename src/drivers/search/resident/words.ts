/** Numbers for the words of the corpus. */
import { hashed, numberedWords, wordSeed } from '../../../core/numbered-words.ts'
import type { CountedTerms, TermNumbers } from './keywords.ts'
import { wordsBySpelling } from './near-terms.ts'

const space = 32

export function wordNumbers() {
  const bySpelling = wordsBySpelling()
  const words = numberedWords()

  function add(hash: number, text: string, from: number, to: number): number {
    const number = words.add(hash, text, from, to)
    bySpelling.add(words.text(number))
    return number
  }

  function hashOf(word: string): number {
    let hash = wordSeed
    for (let at = 0; at < word.length; at++) hash = hashed(hash, word.charCodeAt(at))
    return hash
  }

  const find = (word: string): number | undefined => {
    const number = words.find(hashOf(word), word, 0, word.length)
    return number < 0 ? undefined : number
  }

  return {
    find,
    findAll: (wanted: readonly string[]): TermNumbers => wanted.map(find),
    like: bySpelling.like,
    /** Counts the terms of an analysed text, in which equal terms are adjacent. */
    count(terms: string): CountedTerms {
      const pairs: number[] = []
      let length = 0
      let last = -1
      let hash = wordSeed
      let from = 0
      for (let at = 0; at <= terms.length; at++) {
        const unit = at === terms.length ? space : terms.charCodeAt(at)
        if (unit !== space) {
          hash = hashed(hash, unit)
          continue
        }
        if (at > from) {
          length++
          if (last >= 0 && words.is(last, hash, terms, from, at)) pairs[pairs.length - 1]!++
          else {
            const known = words.find(hash, terms, from, at)
            last = known < 0 ? add(hash, terms, from, at) : known
            pairs.push(last, 1)
          }
        }
        hash = wordSeed
        from = at + 1
      }
      return { pairs, length }
    },
  }
}
