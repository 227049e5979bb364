/** A generation in memory: decisions are filtered first, and only those that pass are scanned by vector or ranked by keyword. */
import { compareText } from '../../../../sdk/storage/fields.ts'
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { KeywordQuery, KeywordResult, SearchIndex, SearchValue } from '../../../../sdk/storage/search.ts'
import { checkVector } from '../../../../sdk/storage/vector-checks.ts'
import { type Corpus, keywordIndex } from './keywords.ts'
import { openLane } from './lane.ts'
import { nearestTerms } from './near-terms.ts'
import { distanceOf } from './nearest.ts'
import type { Addresses } from './rows.ts'
import { openSlots } from './slots.ts'
import { openVectors } from './vectors.ts'
import { wordNumbers } from './words.ts'

/** The index, for a driver that also has segments. */
export interface ResidentIndex extends SearchIndex {
  /** @param query.beyond decisions outside this index that count too */
  keyword(query: KeywordQuery & { beyond?: Corpus }): Promise<KeywordResult>
  scores(query: Parameters<SearchIndex['scores']>[0] & { beyond?: Corpus }): Promise<Map<string, number>>
  /** The corpus of this index. */
  corpus(terms: readonly string[]): Corpus
  /** The fields and vectors of a decision. */
  value(id: string): Omit<SearchValue, 'terms'> | null
}

/** @param worker_from scans of at least this many vectors run in a worker */
export function openResidentIndex(dimensions: number, worker_from: number): ResidentIndex {
  const slots = openSlots()
  const idAt = (slot: number): string => slots.at(slot)!.id
  const vectors = openVectors(dimensions, worker_from, idAt)
  const keywords = keywordIndex()
  const words = wordNumbers()
  /** A hash of the terms at each slot: most changes of a decision don't change its text. */
  const hashes: number[] = []
  // Scans share scratch memory with each other, and rows with `apply`: they run one at a time.
  const lane = openLane()
  let applied = 0

  /** @returns the terms to index, if they have changed */
  function put(id: string, { fields, terms }: SearchValue, addresses: Addresses | null) {
    const isNew = slots.of(id) === undefined
    const slot = slots.put(id, { ...fields, indexed: addresses !== null })
    vectors.put(slot, addresses)
    const hash = Number(Bun.hash(terms))
    if (!isNew && hashes[slot] === hash) return []
    hashes[slot] = hash
    return [{ slot, terms: words.count(terms) }]
  }

  function remove(id: string): void {
    const slot = slots.remove(id)
    if (slot === undefined) return
    vectors.put(slot, null)
    keywords.remove(slot)
  }

  return {
    watermark: async () => applied,
    apply: (entries, watermark) =>
      lane(() => {
        const written = vectors.write(entries)
        let texts: ReturnType<typeof put> = []
        entries.forEach(({ id, value }, at) => {
          if (value) texts.push(...put(id, value, written[at]!))
          else {
            // The slot may be reused by the next entry.
            keywords.set(texts)
            texts = []
            remove(id)
          }
        })
        keywords.set(texts)
        applied = Math.max(applied, watermark)
      }),
    nearest: ({ filter, ...query }) =>
      lane(async () => {
        checkVector(query.vector, dimensions, 'The vector of the query')
        if (query.k <= 0) return []
        return vectors.nearest(query, isEmptyFilter(filter) ? null : slots.passing(filter))
      }),
    distances: ({ vector, side, ids }) =>
      lane(async () => {
        checkVector(vector, dimensions, 'The vector of the query')
        const held = ids.filter((id) => slots.at(slots.of(id) ?? -1)?.indexed)
        const dots = vectors.dots(
          vector,
          side,
          held.map((id) => slots.of(id)!),
        )
        return new Map(held.map((id, at) => [id, distanceOf(dots[at]!)]))
      }),
    async keyword({ terms, filter, limit, counted = true, beyond }) {
      const wanted = words.findAll(terms)
      const passes = isEmptyFilter(filter) ? null : compileFilter(filter)
      let total_unindexed = 0
      const accept = (slot: number): boolean => {
        const fields = slots.at(slot)!
        if (passes !== null && !passes(fields)) return false
        if (!fields.indexed) total_unindexed++
        return true
      }
      const tie = (a: number, b: number) => compareText(idAt(a), idAt(b))
      const { hits, total } = keywords.search({ terms: wanted, accept, tie, limit, beyond })
      return {
        hits: hits.map(({ slot, score }) => ({ id: idAt(slot), score })),
        total: counted ? total : 0,
        total_unindexed,
        ideal: keywords.ideal(wanted, beyond),
      }
    },
    async scores({ terms, ids, beyond }) {
      const wanted = words.findAll(terms)
      const scores = new Map<string, number>()
      for (const id of ids) {
        const slot = slots.of(id)
        if (slot !== undefined) scores.set(id, keywords.score(wanted, slot, beyond))
      }
      return scores
    },
    holding: async ({ terms }) => keywords.slotsWithAll(words.findAll(terms)).map(idAt),
    async nearTerms({ term, max_edits, limit }) {
      const held = (word: string): number => {
        const number = words.find(word)
        return number === undefined ? 0 : keywords.holding(number)
      }
      const own = held(term)
      if (limit === 1 && own > 0) return [{ term, edits: 0, decisions: own }]
      const near = words.like(term, max_edits).flatMap((word): [string, number][] => {
        const decisions = held(word)
        return decisions > 0 ? [[word, decisions]] : []
      })
      return nearestTerms(near, term, max_edits, limit)
    },
    corpus: (terms) => keywords.corpus(words.findAll(terms)),
    value(id) {
      const slot = slots.of(id)
      return slot === undefined ? null : { fields: slots.at(slot)!, vectors: vectors.read(slot) }
    },
    async state() {
      return { decisions: slots.count, indexed: slots.indexed, tail: slots.count, segments: 0, building: false }
    },
    purge: async () => true,
    maintain: async () => {},
    close: () => lane(() => vectors.close()),
  }
}
