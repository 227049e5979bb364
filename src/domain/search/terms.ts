/**
 * Converts text to search terms: Unicode words, lower case, without diacritics, Porter-stemmed; identifiers both whole and by their words.
 * Every store uses this analysis.
 */
import { stemmer } from 'stemmer'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { wordedTexts } from './searched.ts'

/** Longer words are cut: they are not searched for, and one must not slow the analysis down. */
const maxTermLength = 64
/** Limit of distinct terms in a query. */
const maxTerms = 64
/** Scripts written without spaces: indexed by overlapping pairs of characters. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu
const ascii = /^[\0-\x7f]*$/
const asciiWord = /^[a-z]+$/

function addPairs(run: string, words: string[]): void {
  // Most runs have no character outside the basic plane, so that each character is one UTF-16 unit.
  const characters = /[\ud800-\udbff]/.test(run) ? [...run] : run
  if (characters.length === 1) words.push(run)
  for (let index = 1; index < characters.length; index++) words.push(characters[index - 1]! + characters[index]!)
}

/** Where a word begins inside an identifier: `queryDecisions`, `HTTPServer`. Other signs, as in `user_id`, end words anyway. */
const joined = /\p{Ll}\p{N}*\p{Lu}|\p{Lu}{2}\p{Ll}{2}/u
const joinedAscii = /[a-z]\d*[A-Z]|[A-Z]{2}[a-z]{2}/
/** A plural as in `getURLs` is part of its word. */
const parts = /\p{Lu}+s?(?!\p{Ll})\p{N}*|\p{Lu}?\p{Ll}+\p{N}*/gu
/** Names of more words than this are keys, hashes and other encoded data. */
const maxParts = 8

/** Each identifier followed by its words, so that `queryDecisions` is found by "query decisions" and by its name. */
const withParts = (text: string): string =>
  joined.test(text)
    ? text.replace(/[\p{L}\p{N}]+/gu, (word) => {
        const words = joined.test(word) ? (word.match(parts) ?? []) : []
        return words.length > 1 && words.length <= maxParts ? `${word} ${words.join(' ')}` : word
      })
    : text

function wordsOf(text: string): string[] {
  if (ascii.test(text)) return (joinedAscii.test(text) ? withParts(text) : text).toLowerCase().match(/[a-z0-9]+/g) ?? []
  // Marks go first: normalization sorts a run of them in quadratic time.
  const folded = withParts(
    text
      .replace(/\p{M}+/gu, '')
      .normalize('NFKD')
      .replace(/\p{M}+/gu, ''),
  )
    .toLowerCase()
    .normalize('NFC')
  const words: string[] = []
  for (const word of folded.match(/[\p{L}\p{N}]+/gu) ?? []) {
    const spaced = word.replace(unspaced, ' ')
    if (spaced === word) words.push(word)
    else {
      for (const run of word.match(unspaced) ?? []) addPairs(run, words)
      for (const part of spaced.split(' ')) if (part !== '') words.push(part)
    }
  }
  return words
}

/** Cached stems: without them a decision of 170 words takes three times as long to analyse. Full, the cache is cleared. */
const stems = new Map<string, string>()
const maxStems = 50_000

function stem(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (stems.size === maxStems) stems.clear()
  const made = stemmer(word)
  stems.set(word, made)
  return made
}

function termOf(word: string): string {
  if (word.length <= maxTermLength) return asciiWord.test(word) ? stem(word) : word
  const cut = word.slice(0, maxTermLength)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** Counts the terms of a text, in order of first occurrence. Linear in its length. */
function countTerms(text: string, counts: Map<string, number>): void {
  for (const word of wordsOf(text)) {
    const term = termOf(word)
    counts.set(term, (counts.get(term) ?? 0) + 1)
  }
}

/** The terms of a text with their counts; `length` counts all, repeated ones too. */
export function termsOf(text: string): { counts: Map<string, number>; length: number } {
  const counts = new Map<string, number>()
  countTerms(text, counts)
  return { counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) }
}

/** A word that somebody spelled as in code: `max_items`, `queryDecisions`. Names of products, such as PostgreSQL, are not meant. */
const identifier = /_|^[^\p{L}]*\p{Ll}+\p{Lu}/u

/** The distinct terms of a query, in order of first use, and those of its identifiers again, which so count twice; at most 64. */
export function queryTerms(query: string): string[] {
  const terms = new Set<string>()
  for (const word of wordsOf(query)) {
    terms.add(termOf(word))
    if (terms.size === maxTerms) break
  }
  const names = query.split(/[\s,;:?!]+/).filter((word) => identifier.test(word))
  const again = new Set(wordsOf(names.join(' ')).map(termOf))
  return [...terms, ...terms.intersection(again)].slice(0, maxTerms)
}

/** The terms under which a decision is found by keyword, as stores keep them: equal terms are adjacent. */
export function analyse(record: DecisionRecord): string {
  const counts = new Map<string, number>()
  for (const text of wordedTexts(record)) countTerms(text, counts)
  const terms: string[] = []
  for (const [term, count] of counts) for (let at = 0; at < count; at++) terms.push(term)
  return terms.join(' ')
}
