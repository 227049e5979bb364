/**
 * One generation: a table of decisions in LanceDB, and the newest changes in memory in front of it. The table gives candidates, and all
 * candidates are scored by one formula over the statistics of both, so answers don't depend on where a decision is stored.
 */

import type { KeywordResult, SearchGeneration, SearchIndex } from '../../../../sdk/storage/search.ts'
import { checkVector } from '../../../../sdk/storage/vector-checks.ts'
import { byDistance, byScore } from '../memory/slots.ts'
import { nearestTerms, scoreOf, scoringOf } from '../terms.ts'
import { type IndexOptions, openLayers } from './layers.ts'
import type { Overlay } from './overlay.ts'
import type { Place } from './place.ts'
import type { DecisionTable } from './table.ts'

/** Candidates beyond those wanted, since some may be hidden. */
const spare = 16

export async function openIndex(
  place: Place,
  generation: SearchGeneration,
  options: IndexOptions,
): Promise<SearchIndex> {
  const { dimensions } = generation
  const layers = await openLayers(place, generation, options)
  /** A search works on what it found when it began: the changes are searched at once, and what they hide then stays hidden. */
  const search = <T>(work: (view: View) => Promise<T>): Promise<T> =>
    layers.withTable((table) => {
      const { index, stats, hidden } = layers.overlay()
      return work({ index, stats, table, hidden: hidden() })
    })

  return {
    watermark: async () => layers.applied(),
    apply: layers.apply,
    async nearest({ vector, side, k, filter, exact = false }) {
      checkVector(vector, dimensions, 'The vector of the query')
      if (k <= 0) return []
      return search(async ({ index, table, hidden }) => {
        const own = index.nearest({ vector, side, k, filter })
        if (table === null) return own
        const found = await visible(k, hidden, (limit) => table.nearest({ vector, side }, filter, limit, exact))
        return [...own, ...found].sort(byDistance).slice(0, k)
      })
    },
    async distances({ vector, side, ids }) {
      checkVector(vector, dimensions, 'The vector of the query')
      return search(async ({ index, table, hidden }) => {
        const own = index.distances({ vector, side, ids })
        const rest = ids.filter((id) => !hidden.has(id))
        for (const { id, distance } of (await table?.distances({ vector, side }, rest)) ?? []) own.set(id, distance)
        return inOrder(ids, own)
      })
    },
    keyword: (query) =>
      search(async ({ index, stats, table, hidden }): Promise<KeywordResult> => {
        const { terms, filter, limit, counted = true } = query
        const corpus = stats.of(query)
        const own = index.keyword(query, corpus)
        if (table === null || terms.length === 0) return own
        const scoring = scoringOf(corpus)
        const [found, total, total_unindexed] = await Promise.all([
          visible(limit, hidden, (limit) => table.candidates(terms, filter, limit)),
          counted ? table.count(terms, filter, hidden) : 0,
          table.allIndexed || filter.indexed ? 0 : table.count(terms, { ...filter, indexed: false }, hidden),
        ])
        const hits = found.map(({ id, terms: text }) => ({ id, score: scoreOf(scoring, terms, text) }))
        return {
          hits: [...own.hits, ...hits].sort(byScore).slice(0, limit),
          total: own.total + total,
          total_unindexed: own.total_unindexed + total_unindexed,
          ideal: scoring.ideal,
        }
      }),
    scores: (query) =>
      search(async ({ index, stats, table, hidden }) => {
        const corpus = stats.of(query)
        const own = index.scores(query, corpus)
        const scoring = scoringOf(corpus)
        for (const [id, { terms }] of (await table?.find(query.ids.filter((id) => !hidden.has(id)))) ?? [])
          own.set(id, scoreOf(scoring, query.terms, terms))
        return inOrder(query.ids, own)
      }),
    idsContainingAll: ({ terms }) =>
      search(async ({ index, table, hidden }) => {
        const own = index.idsContainingAll(terms)
        return [...own, ...((await table?.idsContainingAll(terms)) ?? []).filter((id) => !hidden.has(id))]
      }),
    async nearTerms(query) {
      const { stats } = layers.overlay()
      return nearestTerms(stats.words(), stats.containing, query)
    },
    async state() {
      const { stats, size } = layers.overlay()
      // Rows that searches leave out count as not indexed, so an answer says that it is incomplete.
      const indexed = stats.indexed - (layers.table()?.left_out ?? 0)
      return { decisions: stats.decisions, indexed: Math.max(0, indexed), in_memory: size() }
    },
    purge: layers.purge,
    maintain: layers.maintain,
    close: layers.close,
  }
}

interface View extends Pick<Overlay, 'index' | 'stats'> {
  table: DecisionTable | null
  /** Decisions whose rows in the table are not the newest. */
  hidden: ReadonlySet<string>
}

/** At least the first `wanted` rows that aren't hidden, if there are so many. @param ask returns the first `limit` rows */
async function visible<Row extends { id: string }>(
  wanted: number,
  hidden: ReadonlySet<string>,
  ask: (limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  for (let asked = wanted; wanted > 0; ) {
    const found = await ask(asked + spare)
    const shown = found.filter(({ id }) => !hidden.has(id))
    if (shown.length >= wanted || found.length < asked + spare) return shown
    asked = wanted + 2 * (found.length - shown.length)
  }
  return []
}

/** The known entries, in the requested order. */
const inOrder = (ids: readonly string[], known: Map<string, number>): Map<string, number> =>
  new Map(ids.flatMap((id) => (known.has(id) ? [[id, known.get(id)!]] : [])))
