/** Decisions in memory: every search is exact, and compares or scores each decision that passes the filter. */

import { passing } from '../../../../sdk/storage/filter.ts'
import type {
  KeywordQuery,
  KeywordResult,
  SearchEntry,
  SearchValue,
  VectorHit,
  VectorQuery,
} from '../../../../sdk/storage/search.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { checkEntries, checkVector } from '../../../../sdk/storage/vector-checks.ts'
import { type Side, sides } from '../../../../sdk/storage/vectors.ts'
import { type CorpusStats, scoringOf } from '../terms.ts'
import { byDistance, byScore, openColumns, openPostings, openVectors } from './slots.ts'

interface Decision {
  id: string
  slot: number
  terms: string
  /** Length of its text in terms. */
  length: number
}

/** All methods are synchronous, so a caller sees one state of the index. */
export interface MemoryIndex {
  decisions(): number
  /** Decisions with vectors. */
  indexed(): number
  /** Upserts and removes; if an id occurs several times, its last entry counts. @throws StorageError `invalid`, with nothing applied */
  apply(entries: readonly SearchEntry[]): void
  /** Its vectors are views, which later changes may overwrite. */
  get(id: string): SearchValue | null
  nearest(query: VectorQuery & { k: number; filter: DecisionFilter }): VectorHit[]
  distances(query: VectorQuery & { ids: readonly string[] }): Map<string, number>
  /** Statistics of these decisions alone. */
  stats(terms: readonly string[]): CorpusStats
  /** @param stats of the whole corpus, of which this index may hold a part */
  keyword(query: KeywordQuery, stats: CorpusStats): KeywordResult
  scores(query: { terms: readonly string[]; ids: readonly string[] }, stats: CorpusStats): Map<string, number>
  /** Ids of the decisions that contain all of the terms. */
  idsContainingAll(terms: readonly string[]): string[]
  /** All terms, each with the number of decisions that contain it. */
  words(): Iterable<[string, number]>
  /** Number of decisions that contain a term. */
  containing(term: string): number
}

export function openMemoryIndex(dimensions: number): MemoryIndex {
  const byId = new Map<string, Decision>()
  const slots: (Decision | undefined)[] = []
  const columns = openColumns()
  const free: number[] = []
  const postings = openPostings()
  const vectors = {
    structure: openVectors(dimensions),
    function: openVectors(dimensions),
    both: openVectors(dimensions),
  }
  let indexed = 0
  let total_length = 0

  const isIndexed = columns.all.indexed

  function remove(one: Decision): void {
    byId.delete(one.id)
    slots[one.slot] = undefined
    free.push(one.slot)
    postings.remove(one.slot, one.terms)
    indexed -= Number(isIndexed[one.slot])
    isIndexed[one.slot] = false
    total_length -= one.length
  }

  function put(id: string, value: SearchValue): void {
    const { terms } = value
    const fields = { ...value.fields, indexed: value.vectors !== null }
    const before = byId.get(id)
    if (before !== undefined && before.terms !== terms) remove(before)
    let one = byId.get(id)
    if (one === undefined) {
      const slot = free.pop() ?? slots.length
      one = { id, slot, terms, length: postings.add(slot, terms) }
      byId.set(id, one)
      slots[slot] = one
      total_length += one.length
    } else {
      // Most changes of a decision don't change its text.
      indexed -= Number(isIndexed[one.slot])
    }
    columns.put(one.slot, fields)
    indexed += Number(fields.indexed)
    if (value.vectors !== null) for (const side of sides) vectors[side].put(one.slot, value.vectors[side])
  }

  return {
    decisions: () => byId.size,
    indexed: () => indexed,
    apply(entries) {
      checkEntries(entries, dimensions)
      for (const { id, value } of entries) {
        const before = byId.get(id)
        if (value !== null) put(id, value)
        else if (before !== undefined) remove(before)
      }
    },
    get(id) {
      const one = byId.get(id)
      if (one === undefined) return null
      const { terms, slot } = one
      const fields = columns.get(slot)
      const viewOf = (side: Side) => vectors[side].get(slot)
      const views = () => ({ structure: viewOf('structure'), function: viewOf('function'), both: viewOf('both') })
      return { fields, terms, vectors: fields.indexed ? views() : null }
    },
    nearest({ vector, side, k, filter }) {
      checkVector(vector, dimensions, 'The vector of the query')
      const passes = passing(filter, columns.all, slots.length)
      const best = top<VectorHit>(k, byDistance)
      const compared = vectors[side]
      for (let slot = 0; slot < slots.length; slot++) {
        if (!isIndexed[slot] || passes[slot] === 0) continue
        const distance = compared.distance(vector, slot)
        if (distance <= (best.last()?.distance ?? 2)) best.offer({ id: slots[slot]!.id, distance })
      }
      return best.take()
    },
    distances({ vector, side, ids }) {
      checkVector(vector, dimensions, 'The vector of the query')
      const distances = new Map<string, number>()
      for (const id of ids) {
        const one = byId.get(id)
        if (one !== undefined && isIndexed[one.slot]) distances.set(id, vectors[side].distance(vector, one.slot))
      }
      return distances
    },
    stats: (terms) => ({ decisions: byId.size, length: total_length, containing: terms.map(postings.size) }),
    keyword({ terms, filter, limit, counted = true }, stats) {
      const { weights, ideal, share } = scoringOf(stats)
      const scores = new Float64Array(slots.length)
      terms.forEach((term, of) => {
        const posting = postings.get(term)
        const weight = weights[of]!
        for (let at = 0; at < posting.length; at += 2) {
          const slot = posting[at]!
          scores[slot] = scores[slot]! + weight * share(posting[at + 1]!, slots[slot]!.length)
        }
      })
      const passes = passing(filter, columns.all, slots.length)
      const best = top<KeywordResult['hits'][number]>(limit, byScore)
      let [total, total_unindexed] = [0, 0]
      for (let slot = 0; slot < scores.length; slot++) {
        const score = scores[slot]!
        if (score === 0 || passes[slot] === 0) continue
        total++
        if (!isIndexed[slot]) total_unindexed++
        if (score >= (best.last()?.score ?? 0)) best.offer({ id: slots[slot]!.id, score })
      }
      return { hits: best.take(), total: counted ? total : 0, total_unindexed, ideal }
    },
    scores({ terms, ids }, stats) {
      const { weights, share } = scoringOf(stats)
      const scores = new Map<string, number>()
      for (const id of ids) {
        const one = byId.get(id)
        if (one === undefined) continue
        let score = 0
        terms.forEach((term, at) => {
          const count = postings.count(term, one.slot)
          if (count > 0) score += weights[at]! * share(count, one.length)
        })
        scores.set(id, score)
      }
      return scores
    },
    idsContainingAll(terms) {
      const [rarest, ...others] = [...terms].sort((a, b) => postings.size(a) - postings.size(b))
      return postings
        .get(rarest!)
        .filter((slot, at) => at % 2 === 0 && others.every((term) => postings.count(term, slot) > 0))
        .map((slot) => slots[slot]!.id)
    },
    words: postings.words,
    containing: postings.size,
  }
}

// Keeps the first `limit` of many items in a given order, without sorting the rest.

interface Top<T> {
  offer(item: T): void
  /** The item that the next better one replaces; undefined while there is room. */
  last(): T | undefined
  /** The kept items in order. */
  take(): T[]
}

export function top<T>(limit: number, compare: (a: T, b: T) => number): Top<T> {
  // A binary heap; its root is the last of the kept items, which a better item replaces.
  const heap: T[] = []

  function sink(start: number): void {
    const item = heap[start]!
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && compare(heap[child + 1]!, heap[child]!) > 0) child++
      if (compare(heap[child]!, item) <= 0) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = item
  }

  return {
    offer(item) {
      if (heap.length < limit) {
        heap.push(item)
        if (heap.length === limit) for (let at = (limit >> 1) - 1; at >= 0; at--) sink(at)
      } else if (limit > 0 && compare(item, heap[0]!) < 0) {
        heap[0] = item
        sink(0)
      }
    },
    last: () => (heap.length < limit ? undefined : heap[0]),
    take: () => heap.sort(compare),
  }
}
