/**
 * Spelling: a word of the question that no decision holds is replaced by the nearest one that some decision holds. A corpus knows its own
 * words better than a dictionary does: names, abbreviations and identifiers are never "corrected" to everyday words that nobody wrote.
 */
import type { Store } from '../../../sdk/storage/store.ts'
import type { Follower } from './follower.ts'
import { queryTerms } from './terms.ts'

/** Shorter words have too many neighbours. */
const minLetters = 5
/** Words of so many letters may hold two typos. */
const twoTypos = 9
/** Questions of many unknown words are about something else, or in another language. */
const maxCorrected = 3

/** A whole word of letters: the letters inside an identifier such as `k8s2prod` or `user_id` are no word of their own. */
const asciiWord = /(?<![\p{L}\p{N}_])[A-Za-z]+(?![\p{L}\p{N}_])/gu

interface SpellingTools {
  store: Pick<Store, 'decisions'>
  index: Pick<Follower, 'keyword' | 'nearTerms'>
}

export interface Spelled {
  /** The question with what was probably meant. */
  text: string
  /** What was replaced, as it was written, and by what. */
  replaced: { word: string; by: string }[]
}

/** Corrects the words of a question that the corpus lacks. One look-up for each such word; none for a question of known words. */
export async function correctSpelling(tools: SpellingTools, question: string): Promise<Spelled> {
  const replaced: Spelled['replaced'] = []
  const words = new Set([...question.matchAll(asciiWord)].map(([word]) => word).filter(isCandidate))
  for (const word of words) {
    const [term] = queryTerms(word)
    if (term === undefined || term.length < minLetters - 1) continue
    const [near] = await tools.index.nearTerms({ term, max_edits: word.length >= twoTypos ? 2 : 1, limit: 1 })
    if (near === undefined || near.edits === 0) continue
    if (replaced.push({ word, by: await writtenAs(tools, near.term, word) }) > maxCorrected)
      return { text: question, replaced: [] }
  }
  const by = new Map(replaced.map((one) => [one.word, one.by]))
  return { text: by.size === 0 ? question : question.replace(asciiWord, (word) => by.get(word) ?? word), replaced }
}

const isCandidate = (word: string): boolean => word.length >= minLetters && word !== word.toUpperCase()

/** A term is a stem: the word as some decision writes it, for the embedder and for people. */
async function writtenAs({ store, index }: SpellingTools, term: string, word: string): Promise<string> {
  const { hits } = await index.keyword({ terms: [term], filter: {}, limit: 1, counted: false })
  const [stored] = await store.decisions.getMany(hits.map(({ id }) => id))
  if (stored === undefined) return term
  const { decision, context, pattern, lessons, reasons } = stored.record
  const text = [decision, context, pattern, lessons, ...reasons.map((reason) => reason.text)].join('\n')
  const forms = new Set([...text.matchAll(asciiWord)].map(([one]) => one.toLowerCase()))
  const fitting = [...forms].filter((one) => queryTerms(one)[0] === term)
  // Of "cache" and "caching" the one whose length is nearer to what was written.
  return fitting.sort((a, b) => Math.abs(a.length - word.length) - Math.abs(b.length - word.length))[0] ?? term
}
