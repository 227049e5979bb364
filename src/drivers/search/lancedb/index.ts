/**
 * One generation: a table of decisions in LanceDB, and the newest changes in memory in front of it. The table gives candidates, and all
 * candidates are scored by one formula over the statistics of both, so answers don't depend on where a decision is stored.
 */

import { compareText } from '../../../../sdk/storage/fields.ts'
import type { KeywordResult, SearchGeneration, SearchIndex } from '../../../../sdk/storage/search.ts'
import { checkVector } from '../../../../sdk/storage/vector-checks.ts'
import { scoreOf, scoringOf } from '../bm25.ts'
import { byDistance } from '../memory/vectors.ts'
import { nearestTerms } from '../near-terms.ts'
import { type IndexOptions, openLayers } from './layers.ts'
import type { Overlay } from './overlay.ts'
import type { Place } from './place.ts'
import type { DecisionTable } from './table.ts'

/** Candidates beyond those wanted, since some may be hidden. */
const spare = 16

const byScore = (a: { id: string; score: number }, b: { id: string; score: number }) =>
  b.score - a.score || compareText(a.id, b.id)

export async function openIndex(
  place: Place,
  generation: SearchGeneration,
  options: IndexOptions,
): Promise<SearchIndex> {
  const { dimensions } = generation
  const layers = await openLayers(place, generation, options)
  const search = <T>(work: (view: View) => Promise<T>): Promise<T> =>
    layers.withTable(({ table }) => {
      const overlay = layers.overlay()
      return work({ overlay, index: overlay.index, table, isHidden: overlay.hiding() })
    })

  return {
    watermark: async () => layers.applied(),
    apply: layers.apply,
    async nearest({ vector, side, k, filter, exact = false }) {
      checkVector(vector, dimensions, 'The vector of the query')
      if (k <= 0) return []
      return search(async ({ index, table, isHidden }) => {
        const own = index.nearest({ vector, side, k, filter })
        if (table === null) return own
        for (let wanted = k; ; ) {
          const asked = wanted + spare
          const found = await table.nearest({ vector, side }, filter, asked, exact)
          const visible = found.filter(({ id }) => !isHidden(id))
          if (visible.length >= k || found.length < asked) return [...own, ...visible].sort(byDistance).slice(0, k)
          wanted = k + 2 * (found.length - visible.length)
        }
      })
    },
    async distances({ vector, side, ids }) {
      checkVector(vector, dimensions, 'The vector of the query')
      return search(async ({ index, table, isHidden }) => {
        const own = index.distances({ vector, side, ids })
        const rest = ids.filter((id) => !isHidden(id))
        for (const { id, distance } of (await table?.distances({ vector, side }, rest)) ?? []) own.set(id, distance)
        return inOrder(ids, own)
      })
    },
    keyword: (query) =>
      search(async ({ overlay, index, table, isHidden }): Promise<KeywordResult> => {
        const { terms, filter, limit, counted = true } = query
        const stats = overlay.stats(table?.state.stats ?? null, terms)
        const own = index.keyword(query, stats)
        if (table === null || terms.length === 0) return own
        const hidden = overlay.hidden()
        const allIndexed = table.state.stats.indexed === table.state.stats.decisions || filter.indexed === true
        const scoring = scoringOf(stats)
        const candidates = async () => {
          for (let wanted = limit; limit > 0; ) {
            const asked = wanted + spare
            const found = await table.candidates(terms, filter, asked)
            const visible = found.filter(({ id }) => !isHidden(id))
            if (visible.length >= limit || found.length < asked) return visible
            wanted = limit + 2 * (found.length - visible.length)
          }
          return []
        }
        const [found, total, total_unindexed] = await Promise.all([
          candidates(),
          counted ? table.count(terms, filter, hidden) : 0,
          allIndexed ? 0 : table.count(terms, { ...filter, indexed: false }, hidden),
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
      search(async ({ overlay, index, table, isHidden }) => {
        const stats = overlay.stats(table?.state.stats ?? null, query.terms)
        const own = index.scores(query, stats)
        if (table === null) return own
        const scoring = scoringOf(stats)
        for (const [id, { terms }] of await table.find(query.ids.filter((id) => !isHidden(id))))
          own.set(id, scoreOf(scoring, query.terms, terms))
        return inOrder(query.ids, own)
      }),
    idsContainingAll: ({ terms }) =>
      search(async ({ index, table, isHidden }) => {
        const own = index.idsContainingAll(terms)
        if (table === null) return own
        return [...own, ...(await table.idsContainingAll(terms)).filter((id) => !isHidden(id))]
      }),
    async nearTerms(query) {
      const { index, hiddenStats } = layers.overlay()
      const stats = layers.table()?.state.stats
      if (stats === undefined) return nearestTerms(index.words(), index.containing, query)
      const containing = (term: string): number =>
        index.containing(term) + stats.containing(term) - hiddenStats.containing(term)
      function* words(): Generator<[string, number]> {
        for (const [term] of stats!.words()) yield [term, containing(term)]
        for (const [term, decisions] of index.words()) if (stats!.containing(term) === 0) yield [term, decisions]
      }
      return nearestTerms(words(), containing, query)
    },
    async state() {
      const { index, hiddenStats } = layers.overlay()
      const stats = layers.table()?.state.stats
      return {
        decisions: index.decisions() + (stats?.decisions ?? 0) - hiddenStats.decisions,
        indexed: index.indexed() + (stats?.indexed ?? 0) - hiddenStats.indexed,
        in_memory: layers.overlay().size(),
        building: layers.table()?.isPartial ?? false,
      }
    },
    purge: layers.purge,
    maintain: layers.maintain,
    close: layers.close,
  }
}

/** What a search works on, from its beginning to its end. */
interface View {
  overlay: Overlay
  index: Overlay['index']
  table: DecisionTable | null
  /** Whether the table's row of a decision is not the newest. */
  isHidden(id: string): boolean
}

/** The known entries, in the requested order. */
const inOrder = (ids: readonly string[], known: Map<string, number>): Map<string, number> =>
  new Map(ids.flatMap((id) => (known.has(id) ? [[id, known.get(id)!]] : [])))
