/** Cached terms of words: an ASCII word is looked up in place in its text, and its term is counted by number. */
import { hashed, numberedWords, wordSeed } from '../../core/numbered-words.ts'

/** Most cached terms; beyond this, the cache is cleared. */
const mostTerms = 50_000
/** Longer words are not cached. */
const mostLetters = 64

/** The lower-case letter or digit of each character of a word; 0 for characters between words. */
const lowered = new Uint16Array(128)
for (let digit = 48; digit < 58; digit++) lowered[digit] = digit
for (let letter = 97; letter < 123; letter++) {
  lowered[letter] = letter
  lowered[letter - 32] = letter
}

export interface WordTable {
  /** Resets all counts. */
  begin(): void
  /** Counts a word in lower case. */
  count(word: string): void
  /** Counts the words of an ASCII text; those with a capital inside, which may consist of several words, are passed to `compound`. */
  countAscii(text: string, compound: (word: string) => void): void
  /** Calls back with each counted term, in order of first occurrence. */
  each(found: (term: string, count: number) => void): void
}

/** @param termOf of a word in lower case */
export function wordTable(termOf: (word: string) => string): WordTable {
  let terms: string[] = []
  let counts: number[] = []
  let counted: number[] = []
  const byTerm = new Map<string, number>()
  /** Numbers of terms, by word. */
  const byWord = new Map<string, number>()

  const ascii = numberedWords(lowered)
  /** Numbers of terms, by the number of the word in `ascii`. */
  let termsOfWords: number[] = []

  function forget(): void {
    terms = []
    counts = []
    byTerm.clear()
    byWord.clear()
    ascii.clear()
    termsOfWords = []
  }

  function numberOf(word: string): number {
    const term = termOf(word)
    const known = byTerm.get(term)
    if (known !== undefined) return known
    byTerm.set(term, terms.length)
    counts.push(0)
    return terms.push(term) - 1
  }

  function countTerm(number: number): void {
    if (counts[number]!++ === 0) counted.push(number)
  }

  /** Adds a word that the table lacks, unless it is too long. Returns the number of its term. */
  function add(hash: number, text: string, from: number, to: number): number {
    if (to - from > mostLetters) return numberOf(text.slice(from, to).toLowerCase())
    const number = numberOf(ascii.text(ascii.add(hash, text, from, to)))
    termsOfWords.push(number)
    return number
  }

  return {
    begin() {
      for (const number of counted) counts[number] = 0
      counted = []
      if (terms.length > mostTerms || ascii.size() + byWord.size > mostTerms * 4) forget()
    },
    count(word) {
      const known = byWord.get(word)
      const number = known ?? numberOf(word)
      if (known === undefined && word.length <= mostLetters) byWord.set(word, number)
      countTerm(number)
    },
    countAscii(text, compound) {
      let hash = wordSeed
      let from = 0
      let hasCapital = false
      for (let at = 0; at <= text.length; at++) {
        const unit = at === text.length ? 0 : text.charCodeAt(at)
        const letter = lowered[unit]!
        if (letter !== 0) {
          hash = hashed(hash, letter)
          if (letter !== unit && at > from) hasCapital = true
          continue
        }
        if (hasCapital) compound(text.slice(from, at))
        else if (at > from) {
          const number = ascii.find(hash, text, from, at)
          countTerm(number < 0 ? add(hash, text, from, at) : termsOfWords[number]!)
        }
        hash = wordSeed
        from = at + 1
        hasCapital = false
      }
    },
    each(found) {
      for (const number of counted) found(terms[number]!, counts[number]!)
    },
  }
}
