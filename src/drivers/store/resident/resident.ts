/** What a store driver keeps in memory to answer filters and words: the catalogue and the keyword index under the same slots. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionFilter, DecisionReader, KeywordResult } from '../../../../sdk/storage/store.ts'
import { type Catalogue, catalogue } from './catalogue.ts'
import { type column, numberColumn, withRoom } from './columns.ts'
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

// Which slots pass a filter: one typed array after the other, so that no decision is looked at that an earlier member left out.

type TextColumn = ReturnType<typeof column<string>>
type Named = Record<'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'project', TextColumn>

export interface Selection {
  put(slot: number, fields: DecisionFields): void
  remove(slot: number): void
  /** `created_ms` by slot. */
  created(): Float64Array
  /** 1 for each slot that passes. Valid until the next call; what a filter can't see here is left to `at`. */
  passing(filter: DecisionFilter, at: (slot: number) => DecisionFields | undefined): Uint8Array
}

export function selection(texts: Named): Selection {
  let live: Uint8Array = new Uint8Array(1_024)
  let mask: Uint8Array = new Uint8Array(0)
  let slots = 0
  const created = numberColumn()
  const due = numberColumn()
  const preserved = numberColumn()

  function keepEqual({ codes, known }: TextColumn, value: string | undefined): void {
    if (value === undefined) return
    const [of, wanted] = [codes(), known(value)]
    for (let slot = 0; slot < slots; slot++) if (of[slot] !== wanted) mask[slot] = 0
  }

  function keepAny({ codes, values }: TextColumn, wanted: readonly string[] | undefined): void {
    if (wanted === undefined) return
    const allowed = Uint8Array.from(values, (value) => (wanted.includes(value) ? 1 : 0))
    const of = codes()
    // A number of −1 is no index: null is never among the wanted.
    for (let slot = 0; slot < slots; slot++) if (allowed[of[slot]!] !== 1) mask[slot] = 0
  }

  function keepBetween(numbers: Float64Array, from: number | undefined, to: number | undefined): void {
    if (from !== undefined) for (let slot = 0; slot < slots; slot++) if (!(numbers[slot]! >= from)) mask[slot] = 0
    if (to !== undefined) for (let slot = 0; slot < slots; slot++) if (!(numbers[slot]! <= to)) mask[slot] = 0
  }

  return {
    created: created.numbers,
    put(slot, { created_ms, review_by_ms, preserve }) {
      live = withRoom(live, slot)
      live[slot] = 1
      slots = Math.max(slots, slot + 1)
      created.set(slot, created_ms)
      due.set(slot, review_by_ms)
      preserved.set(slot, Number(preserve))
    },
    remove(slot) {
      live[slot] = 0
    },
    passing(filter, at) {
      if (isEmptyFilter(filter)) return live.subarray(0, slots)
      if (mask.length < slots) mask = new Uint8Array(live.length)
      mask.set(live.subarray(0, slots))
      const { category, agent, project, stakes, status, outcome, created_from_ms, created_to_ms, ...others } = filter
      const { review_by_to_ms, preserve, ...rest } = others
      keepEqual(texts.category, category)
      keepEqual(texts.agent, agent)
      keepEqual(texts.project, project)
      keepAny(texts.stakes, stakes)
      keepAny(texts.status, status)
      keepAny(texts.outcome, outcome)
      keepBetween(created.numbers(), created_from_ms, created_to_ms)
      keepBetween(due.numbers(), undefined, review_by_to_ms)
      if (preserve !== undefined) keepBetween(preserved.numbers(), Number(preserve), Number(preserve))
      if (!isEmptyFilter(rest)) {
        const passes = compileFilter(rest)
        for (let slot = 0; slot < slots; slot++) if (mask[slot] === 1 && !passes(at(slot)!)) mask[slot] = 0
      }
      return mask.subarray(0, slots)
    },
  }
}
