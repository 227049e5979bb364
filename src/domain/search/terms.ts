/**
 * Converts text to search terms: Unicode words, lower case, without diacritics, Porter-stemmed; identifiers both whole and by their words.
 * Every store uses this analysis.
 */
import { stemmer } from 'stemmer'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { wordTable } from './word-table.ts'

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
  if (ascii.test(text))
    return (
      withParts(text)
        .toLowerCase()
        .match(/[a-z0-9]+/g) ?? []
    )
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

function termOf(word: string): string {
  if (word.length <= maxTermLength) return asciiWord.test(word) ? stemmer(word) : word
  const cut = word.slice(0, maxTermLength)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

const words = wordTable(termOf)

/** Counts the terms of texts in {@link words}. Linear in their length. */
function countTerms(texts: readonly string[]): void {
  words.begin()
  const countAll = (text: string) => {
    for (const word of wordsOf(text)) words.count(word)
  }
  for (const text of texts)
    if (ascii.test(text)) words.countAscii(text, countAll)
    else countAll(text)
}

/** The terms of a text with their counts; `length` counts all, repeated ones too. */
export function termsOf(text: string): { counts: Map<string, number>; length: number } {
  const counts = new Map<string, number>()
  let length = 0
  countTerms([text])
  words.each((term, count) => {
    counts.set(term, count)
    length += count
  })
  return { counts, length }
}

/** The distinct terms of a query, in order of first use; at most 64. */
export function queryTerms(query: string): string[] {
  const terms = new Set<string>()
  for (const word of wordsOf(query)) {
    terms.add(termOf(word))
    if (terms.size === maxTerms) break
  }
  return [...terms]
}

/** The terms under which a decision is found by keyword, as stores keep them. */
export function analyse(record: DecisionRecord): string {
  const { decision, context, reasons, tags, pattern, category, lessons } = record
  const texts = [decision, context, ...reasons.map(({ text }) => text), ...tags, pattern, category, lessons]
  const terms: string[] = []
  countTerms(texts.filter((text) => text !== null))
  words.each((term, count) => {
    for (let at = 0; at < count; at++) terms.push(term)
  })
  return terms.join(' ')
}
