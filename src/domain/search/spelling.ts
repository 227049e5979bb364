/**
 * Spelling: a word of the question that no decision contains is replaced by the nearest one that some decision contains. A corpus knows its
 * words better than a dictionary does: names, abbreviations and identifiers are never "corrected" to common words that no decision uses.
 */

import { editDistance } from '../../../sdk/nearest.ts'
import { readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { DecisionReader } from '../../../sdk/storage/store.ts'
import type { IndexSync } from './index-sync.ts'
import { wordedTexts } from './searched.ts'
import { queryTerms } from './terms.ts'

/** Shorter words have too many neighbours. */
const minLetters = 5
/** Words with at least this many letters may contain two typos. */
const twoTypos = 9
/** Questions with more unknown words are about something else, or in another language. */
const maxCorrected = 3

/** Most terms that are tried for a word, and most decisions that are searched for the spellings of a term. */
const maxTried = 3

/** A whole word of letters: the letters inside an identifier such as `k8s2prod` or `user_id` are not a word. */
const asciiWord = /(?<![\p{L}\p{N}_])[A-Za-z]+(?![\p{L}\p{N}_])/gu

interface SpellingTools {
  store: { decisions: Pick<DecisionReader, 'get'> }
  index: Pick<IndexSync, 'keyword' | 'nearTerms'>
  embedder: Pick<Embedder, 'knowsWord'>
}

export interface Spelled {
  /** The question with the words that were probably meant. */
  text: string
  /** The replaced words as written, and their replacements. */
  replaced: { word: string; by: string }[]
}

/**
 * Corrects the words of a question that the corpus lacks. A word that the embedder's model knows is kept, however near another one is.
 * All words are looked up concurrently, and nearly always the corpus has them; only a missing word is compared with others.
 */
export async function correctSpelling(tools: SpellingTools, question: string): Promise<Spelled> {
  const replaced: Spelled['replaced'] = []
  const words = [...new Set([...question.matchAll(asciiWord)].map(([word]) => word).filter(isCandidate))]
  const lacking = await Promise.all(words.map((word) => isLacking(tools, word)))
  for (const [at, word] of words.entries()) {
    const by = lacking[at] ? await nearestSpelling(tools, word.toLowerCase()) : null
    if (by !== null && replaced.push({ word, by }) > maxCorrected) return { text: question, replaced: [] }
  }
  const by = new Map(replaced.map((one) => [one.word, one.by]))
  return { text: by.size === 0 ? question : question.replace(asciiWord, (word) => by.get(word) ?? word), replaced }
}

const isCandidate = (word: string): boolean => word.length >= minLetters && word !== word.toUpperCase()

/** Whether a word is long enough to be corrected, and no decision contains it. */
async function isLacking({ index }: SpellingTools, word: string): Promise<boolean> {
  const [term] = queryTerms(word)
  if (term === undefined || term.length < minLetters - 1) return false
  return (await index.nearTerms({ term, max_edits: 0, limit: 1 })).length === 0
}

/** The word of some decision that was probably meant by this one; null if none is near. */
async function nearestSpelling(tools: SpellingTools, word: string): Promise<string | null> {
  const max_edits = word.length >= twoTypos ? 2 : 1
  const near = await tools.index.nearTerms({ term: queryTerms(word)[0]!, max_edits, limit: maxTried })
  if (near.length === 0 || (await tools.embedder.knowsWord?.(word))) return null
  for (const { term } of near) {
    const by = await writtenLike(tools, term, word, max_edits)
    if (by !== null) return by
  }
  return null
}

const ending = /(?:ing|ed|es|s|e)$/
/** Number of edits between two words, not counting a different ending of the same word. */
function editsApart(word: string, form: string, max: number): number {
  const root = form.replace(ending, '')
  return Math.min(
    editDistance(word, form, max),
    editDistance(word, root, max),
    editDistance(word.replace(ending, ''), root, max),
  )
}

/**
 * Terms are stems, and different words may have near stems: "summarizes" is near to "summer" only by its stem. So the words of some
 * decisions with this stem are compared. The nearest of them, if it is near enough, is what people and the embedder get.
 */
async function writtenLike(
  { store, index }: SpellingTools,
  term: string,
  word: string,
  max_edits: number,
): Promise<string | null> {
  const { hits } = await index.keyword({ terms: [term], filter: {}, limit: maxTried, counted: false })
  const forms = new Set<string>()
  for (const { record } of await readDecisions(
    store.decisions,
    hits.map(({ id }) => id),
  )) {
    const text = wordedTexts(record).join('\n')
    for (const [one] of text.matchAll(asciiWord)) forms.add(one.toLowerCase())
  }
  const [best] = [...forms]
    .filter((one) => queryTerms(one)[0] === term)
    .map((form) => ({ form, edits: editsApart(word, form, max_edits) }))
    .sort((a, b) => a.edits - b.edits || Math.abs(a.form.length - word.length) - Math.abs(b.form.length - word.length))
  return best && best.edits <= max_edits ? best.form : null
}
