/**
 * The terms of words that were seen before. A table of our own over typed arrays: an ASCII word is found by its characters, without a
 * string of its own, and its term is counted by number.
 */

/** Terms that are kept; then all are forgotten. */
const mostTerms = 50_000
/** Longer words are not kept. */
const mostLetters = 64
/** Seed and factor of FNV-1a. */
const seed = 0x811c9dc5
const factor = 0x01000193

/** Lower-case letter or digit that a character of a word stands for; 0 for what is between words. */
const lowered = new Uint8Array(128)
for (let digit = 48; digit < 58; digit++) lowered[digit] = digit
for (let letter = 97; letter < 123; letter++) {
  lowered[letter] = letter
  lowered[letter - 32] = letter
}

export interface WordTable {
  /** Begins to count; what was counted before is forgotten. */
  begin(): void
  /** Counts a word in lower case. */
  count(word: string): void
  /** Counts the words of an ASCII text; those with a capital inside, which may be of several words, are handed on. */
  countAscii(text: string, compound: (word: string) => void): void
  /** Calls back with each term that was counted, in the order of their first words. */
  each(found: (term: string, count: number) => void): void
}

/** @param termOf of a word in lower case */
export function wordTable(termOf: (word: string) => string): WordTable {
  let terms: string[] = []
  let counts: number[] = []
  let counted: number[] = []
  const byTerm = new Map<string, number>()
  /** Numbers of the terms of words. */
  const byWord = new Map<string, number>()

  // ASCII words by their letters.
  /** One more than the number of a word, at a place that its hash says; 0 where there is none. The length is a power of two. */
  let table = new Int32Array(1 << 12)
  let hashes: number[] = []
  let letters = new Uint8Array(1 << 14)
  /** Word `n` has the letters from here to where the next begins. */
  let starts: number[] = [0]
  /** Numbers of the terms of these words. */
  let termsOfWords: number[] = []

  function forget(): void {
    terms = []
    counts = []
    byTerm.clear()
    byWord.clear()
    table.fill(0)
    hashes = []
    starts = [0]
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

  function isAt(number: number, text: string, from: number, to: number): boolean {
    const start = starts[number]!
    if (starts[number + 1]! - start !== to - from) return false
    for (let at = from; at < to; at++) if (letters[start + at - from] !== lowered[text.charCodeAt(at)]) return false
    return true
  }

  /** The place in the table of a part of a text, or the free one where it belongs. */
  function placeOf(hash: number, text: string, from: number, to: number): number {
    const mask = table.length - 1
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = table[place]! - 1
      if (number < 0 || (hashes[number] === hash && isAt(number, text, from, to))) return place
    }
  }

  function grow(): void {
    table = new Int32Array(table.length * 2)
    const mask = table.length - 1
    hashes.forEach((hash, number) => {
      let place = hash & mask
      while (table[place] !== 0) place = (place + 1) & mask
      table[place] = number + 1
    })
  }

  /** The number of the term of a word that the table lacks. */
  function add(hash: number, text: string, from: number, to: number): number {
    if (to - from > mostLetters) return numberOf(text.slice(from, to).toLowerCase())
    if (hashes.length * 2 >= table.length) grow()
    const start = starts.at(-1)!
    const end = start + to - from
    if (end > letters.length) {
      const larger = new Uint8Array(letters.length * 2)
      larger.set(letters)
      letters = larger
    }
    for (let at = from; at < to; at++) letters[start + at - from] = lowered[text.charCodeAt(at)]!
    table[placeOf(hash, text, from, to)] = hashes.push(hash)
    starts.push(end)
    // A copy: a slice would keep the whole text.
    const number = numberOf(String.fromCharCode(...letters.subarray(start, end)))
    termsOfWords.push(number)
    return number
  }

  return {
    begin() {
      for (const number of counted) counts[number] = 0
      counted = []
      if (terms.length > mostTerms || hashes.length + byWord.size > mostTerms * 4) forget()
    },
    count(word) {
      const known = byWord.get(word)
      const number = known ?? numberOf(word)
      if (known === undefined && word.length <= mostLetters) byWord.set(word, number)
      countTerm(number)
    },
    countAscii(text, compound) {
      let hash = seed
      let from = 0
      let hasCapital = false
      for (let at = 0; at <= text.length; at++) {
        const unit = at === text.length ? 0 : text.charCodeAt(at)
        const letter = lowered[unit]!
        if (letter !== 0) {
          hash = Math.imul(hash ^ letter, factor)
          if (letter !== unit && at > from) hasCapital = true
          continue
        }
        if (hasCapital) compound(text.slice(from, at))
        else if (at > from) {
          const number = table[placeOf(hash, text, from, at)]! - 1
          countTerm(number < 0 ? add(hash, text, from, at) : termsOfWords[number]!)
        }
        hash = seed
        from = at + 1
        hasCapital = false
      }
    },
    each(found) {
      for (const number of counted) found(terms[number]!, counts[number]!)
    },
  }
}
