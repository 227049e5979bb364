/** What a store driver keeps in memory to answer filters and words: the catalogue and the keyword index under the same slots. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionReader, KeywordResult } from '../../../../sdk/storage/store.ts'
import { type Catalogue, catalogue } from './catalogue.ts'
import { keywordIndex } from './keywords.ts'
import type { PackedTerms } from './postings.ts'

export interface Resident {
  readonly catalogue: Catalogue
  /** Number of each word of the corpus. */
  readonly words: Map<string, number>
  /** Fills an empty one. */
  load(entries: readonly { fields: DecisionFields; terms: PackedTerms }[]): void
  /** Adds or replaces; without `terms` the words stay as they were. */
  put(fields: DecisionFields, terms: PackedTerms | null): void
  remove(id: string): void
  list(query: Parameters<DecisionReader['list']>[0]): { ids: string[]; total: number }
  keyword(query: Parameters<DecisionReader['keyword']>[0]): KeywordResult
  keywordScores(terms: readonly string[], ids: readonly string[]): Map<string, number>
}

export function resident(): Resident {
  const rows = catalogue()
  const index = keywordIndex()
  const words = new Map<string, number>()
  const numbers = (terms: readonly string[]) => terms.map((term) => words.get(term))

  return {
    catalogue: rows,
    words,
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
      const { hits, total } = index.search({
        terms: wanted,
        accept,
        tie: (a, b) => compareText(rows.at(a)!.id, rows.at(b)!.id),
        limit,
      })
      return {
        hits: hits.map(({ slot, score }) => ({ id: rows.at(slot)!.id, score })),
        total: counted ? total : 0,
        total_unindexed,
        ideal: index.ideal(wanted),
        also: this.keywordScores(terms, also),
      }
    },
    keywordScores(terms, ids) {
      const wanted = numbers(terms)
      const scores = new Map<string, number>()
      for (const id of ids) {
        const slot = rows.slotOf(id)
        if (slot !== undefined) scores.set(id, index.score(wanted, slot))
      }
      return scores
    },
  }
}
