/**
 * Spelling: a word of the question that no decision holds is replaced by the nearest one that some decision holds. A corpus knows its own
 * words better than a dictionary does: names, abbreviations and identifiers are never "corrected" to everyday words that nobody wrote.
 */

import { editDistance } from '../../../sdk/nearest.ts'
import { readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { DecisionReader } from '../../../sdk/storage/store.ts'
import type { Follower } from './follower.ts'
import { queryTerms } from './terms.ts'

/** Shorter words have too many neighbours. */
const minLetters = 5
/** Words of so many letters may hold two typos. */
const twoTypos = 9
/** Questions of many unknown words are about something else, or in another language. */
const maxCorrected = 3

/** Terms that are tried for a word, and decisions in which the spellings of a term are looked for. */
const maxTried = 3

/** A whole word of letters: the letters inside an identifier such as `k8s2prod` or `user_id` are no word of their own. */
const asciiWord = /(?<![\p{L}\p{N}_])[A-Za-z]+(?![\p{L}\p{N}_])/gu

interface SpellingTools {
  store: { decisions: Pick<DecisionReader, 'get'> }
  index: Pick<Follower, 'keyword' | 'nearTerms'>
  embedder: Pick<Embedder, 'knowsWord'>
}

export interface Spelled {
  /** The question with what was probably meant. */
  text: string
  /** What was replaced, as it was written, and by what. */
  replaced: { word: string; by: string }[]
}

/**
 * Corrects the words of a question that the corpus lacks. A word that the embedder's model knows is one, however near another is.
 * All words are looked up at once, and nearly always the corpus has them; only one that it lacks is compared with others.
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

/** Whether a word is long enough to be corrected, and no decision holds it. */
async function isLacking({ index }: SpellingTools, word: string): Promise<boolean> {
  const [term] = queryTerms(word)
  if (term === undefined || term.length < minLetters - 1) return false
  return (await index.nearTerms({ term, max_edits: 0, limit: 1 })).length === 0
}

/** What some decision writes and this word, which none does, was probably meant to be; null if it is near to nothing. */
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
/** How many edits apart two words are, other endings of the same word apart. */
function editsApart(word: string, form: string, max: number): number {
  const root = form.replace(ending, '')
  return Math.min(
    editDistance(word, form, max),
    editDistance(word, root, max),
    editDistance(word.replace(ending, ''), root, max),
  )
}

/**
 * A term is a stem, which different words share with what they are not: "summarizes" is near to "summer" by its stem alone. So the
 * words of some decisions that have this stem are compared; the nearest of them, if it is near enough, is what people and the embedder get.
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
    const { decision, context, pattern, lessons, reasons } = record
    const text = [decision, context, pattern, lessons, ...reasons.map((reason) => reason.text)].join('\n')
    for (const [one] of text.matchAll(asciiWord)) forms.add(one.toLowerCase())
  }
  const [best] = [...forms]
    .filter((one) => queryTerms(one)[0] === term)
    .map((form) => ({ form, edits: editsApart(word, form, max_edits) }))
    .sort((a, b) => a.edits - b.edits || Math.abs(a.form.length - word.length) - Math.abs(b.form.length - word.length))
  return best && best.edits <= max_edits ? best.form : null
}
