/** What a store driver keeps in memory to answer filters and words: the catalogue and the keyword index under the same slots. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionReader, KeywordResult, NearTerm } from '../../../../sdk/storage/store.ts'
import { type Catalogue, catalogue } from './catalogue.ts'
import { keywordIndex, type TermNumbers } from './keywords.ts'
import { nearestTerms, wordsBySpelling } from './near-terms.ts'
import type { PackedTerms } from './postings.ts'

export interface Resident {
  readonly catalogue: Catalogue
  /** Number of each word of the corpus. */
  readonly words: ReadonlyMap<string, number>
  /** Adds a word of the corpus under its number. */
  addWord(word: string, number: number): void
  /** Fills an empty one. */
  load(entries: readonly { fields: DecisionFields; terms: PackedTerms }[]): void
  /** Adds or replaces; without `terms` the words stay as they were. */
  put(fields: DecisionFields, terms: PackedTerms | null): void
  remove(id: string): void
  list(query: Parameters<DecisionReader['list']>[0]): { ids: string[]; total: number }
  keyword(query: Parameters<DecisionReader['keyword']>[0]): KeywordResult
  nearTerms(query: Parameters<DecisionReader['nearTerms']>[0]): NearTerm[]
}

export function resident(): Resident {
  const rows = catalogue()
  const index = keywordIndex()
  const words = new Map<string, number>()
  const bySpelling = wordsBySpelling()
  const numbers = (terms: readonly string[]) => terms.map((term) => words.get(term))

  function exactScores(wanted: TermNumbers, ids: readonly string[]): Map<string, number> {
    const scores = new Map<string, number>()
    for (const id of ids) {
      const slot = rows.slotOf(id)
      if (slot !== undefined) scores.set(id, index.score(wanted, slot))
    }
    return scores
  }

  return {
    catalogue: rows,
    words,
    addWord(word, number) {
      if (!words.has(word)) bySpelling.add(word)
      words.set(word, number)
    },
    load(entries) {
      index.load(entries.map(({ fields, terms }) => ({ slot: rows.put(fields), terms })))
    },
    put(fields, terms) {
      const slot = rows.put(fields)
      if (terms !== null) index.set(slot, terms)
    },
    remove(id) {
      const slot = rows.remove(id)
      if (slot !== undefined) index.remove(slot)
    },
    list({ terms, ...query }) {
      if (terms === undefined || terms.length === 0) return rows.list(query)
      return rows.list({ ...query, slots: index.slotsWithAll(numbers(terms)) })
    },
    keyword({ terms, filter, limit, also = [], counted = true }) {
      const wanted = numbers(terms)
      const passes = isEmptyFilter(filter) ? null : compileFilter(filter)
      let total_unindexed = 0
      const accept = (slot: number): boolean => {
        if (passes !== null && !passes(rows.at(slot)!)) return false
        if (rows.isUnindexed(slot)) total_unindexed++
        return true
      }
      const tie = (a: number, b: number) => compareText(rows.at(a)!.id, rows.at(b)!.id)
      const { hits, total } =
        limit > 0 || counted ? index.search({ terms: wanted, accept, tie, limit }) : { hits: [], total: 0 }
      return {
        hits: hits.map(({ slot, score }) => ({ id: rows.at(slot)!.id, score })),
        total: counted ? total : 0,
        total_unindexed,
        ideal: index.ideal(wanted),
        also: exactScores(wanted, also),
      }
    },
    nearTerms({ term, max_edits, limit }) {
      const holding = (word: string): number => {
        const number = words.get(word)
        return number === undefined ? 0 : index.holding(number)
      }
      const own = holding(term)
      if (limit === 1 && own > 0) return [{ term, edits: 0, decisions: own }]
      function* held(): Generator<[string, number]> {
        for (const word of bySpelling.like(term, max_edits)) {
          const decisions = holding(word)
          if (decisions > 0) yield [word, decisions]
        }
      }
      return nearestTerms(held(), term, max_edits, limit)
    },
  }
}
