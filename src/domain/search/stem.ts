/**
 * The Porter stemmer: English words to stems, with the two changes (bli, logi) that its author made after the paper.
 * @see M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980
 */

const vowel = (word: string, at: number): boolean => {
  const letter = word[at]!
  if ('aeiou'.includes(letter)) return true
  return letter === 'y' && at > 0 && !vowel(word, at - 1)
}

/** m in Porter's paper: how often a vowel is followed by a consonant. */
function measure(stemmed: string): number {
  let count = 0
  let before = false
  for (let index = 0; index < stemmed.length; index++) {
    const letter = stemmed[index]!
    const now: boolean = 'aeiou'.includes(letter) || (letter === 'y' && index > 0 && !before)
    if (before && !now) count++
    before = now
  }
  return count
}

/** A y is a vowel unless it stands first or follows one. */
const hasVowel = (stemmed: string): boolean => /[aeiou]|.y/.test(stemmed)

const doubleConsonant = (word: string): boolean =>
  word.length > 1 && word.at(-1) === word.at(-2) && !vowel(word, word.length - 1)

/** *o in the paper: ends consonant, vowel, consonant, where the last is not w, x or y. */
const shortEnd = (word: string): boolean => {
  const end = word.length - 1
  return end >= 2 && !vowel(word, end) && vowel(word, end - 1) && !vowel(word, end - 2) && !'wxy'.includes(word[end]!)
}

const step2 = Object.entries({
  ational: 'ate',
  tional: 'tion',
  enci: 'ence',
  anci: 'ance',
  izer: 'ize',
  bli: 'ble',
  alli: 'al',
  entli: 'ent',
  eli: 'e',
  ousli: 'ous',
  ization: 'ize',
  ation: 'ate',
  ator: 'ate',
  alism: 'al',
  iveness: 'ive',
  fulness: 'ful',
  ousness: 'ous',
  aliti: 'al',
  iviti: 'ive',
  biliti: 'ble',
  logi: 'log',
})
const step3 = Object.entries({ icate: 'ic', ative: '', alize: 'al', iciti: 'ic', ical: 'ic', ful: '', ness: '' })
const step4 = [
  'al',
  'ance',
  'ence',
  'er',
  'ic',
  'able',
  'ible',
  'ant',
  'ement',
  'ment',
  'ent',
  'ou',
  'ism',
  'ate',
  'iti',
  'ous',
  'ive',
  'ize',
]

/** Replaces the longest of the suffixes that stands at the end, if what is left has a measure above `least`. */
function replaceLongest(word: string, suffixes: [string, string][], least: number): string {
  let best: [string, string] | null = null
  for (const pair of suffixes)
    if (word.endsWith(pair[0]) && (best === null || pair[0].length > best[0].length)) best = pair
  if (best === null) return word
  const rest = word.slice(0, -best[0].length)
  return measure(rest) > least ? rest + best[1] : word
}

function step1(given: string): string {
  let word = given
  if (word.endsWith('sses') || word.endsWith('ies')) word = word.slice(0, -2)
  else if (word.endsWith('s') && !word.endsWith('ss')) word = word.slice(0, -1)
  if (word.endsWith('eed')) {
    if (measure(word.slice(0, -3)) > 0) word = word.slice(0, -1)
  } else {
    const cut = word.endsWith('ed') ? 2 : word.endsWith('ing') ? 3 : 0
    const rest = word.slice(0, word.length - cut)
    if (cut > 0 && hasVowel(rest)) {
      if (/(?:at|bl|iz)$/.test(rest)) word = `${rest}e`
      else if (doubleConsonant(rest) && !/[lsz]$/.test(rest)) word = rest.slice(0, -1)
      else word = measure(rest) === 1 && shortEnd(rest) ? `${rest}e` : rest
    }
  }
  return word.endsWith('y') && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word
}

function step4And5(given: string): string {
  let word = given
  const suffixes = step4.map((suffix): [string, string] => [suffix, ''])
  if (/[st]ion$/.test(word)) suffixes.push(['ion', ''])
  word = replaceLongest(word, suffixes, 1)
  if (word.endsWith('e')) {
    const rest = word.slice(0, -1)
    const m = measure(rest)
    if (m > 1 || (m === 1 && !shortEnd(rest))) word = rest
  }
  return word.endsWith('ll') && measure(word) > 1 ? word.slice(0, -1) : word
}

const cache = new Map<string, string>()
const cacheSize = 50_000

/** The stem of a word of lower-case ASCII letters. Words of one or two letters stay as they are. */
export function stem(word: string): string {
  if (word.length < 3) return word
  const known = cache.get(word)
  if (known !== undefined) return known
  const result = step4And5(replaceLongest(replaceLongest(step1(word), step2, 0), step3, 0))
  if (cache.size >= cacheSize) cache.clear()
  cache.set(word, result)
  return result
}
