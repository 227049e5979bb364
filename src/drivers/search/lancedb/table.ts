/** The table of decisions at one version: its questions, as LanceDB answers them. */
import type { Table } from '@lancedb/lancedb'
import type { VectorHit, VectorQuery } from '../../../../sdk/storage/search.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { openTurns } from '../../../core/each.ts'
import { anyOf, conditions, hasOf } from './filter.ts'
import type { Engine } from './library.ts'
import type { Counted } from './overlay.ts'
import type { StoredState } from './state.ts'

/** Searches of LanceDB in progress: each works on all cores and holds what it reads, so more at once take longer together, and no turn is left to short calls. */
const searchesAtOnce = 2
/** Vectors that LanceDB compares in full for each search: at least this many, and this many times the wanted number. */
const compared = { min: 200, times: 4 }
/** Share of the vector index that is searched, of partitions of about this many vectors; all of a small one. */
const probes = { min: 24, share: 0.5, partition: 4_096 }
/** Candidates by keyword, which are scored by our own statistics: LanceDB ranks by those of its table alone. */
const minCandidates = 200
/** An exact search reads only rows that pass if they are at most this share; of more, one by one, it would cost more than to read all. */
const fewRows = 0.02
/** LanceDB compares rows that its indices lack one by one; with more of them, searches leave them out until they are indexed. */
const maxUnindexed = 10_000
/** Ids in one condition. */
const idsAtOnce = 1_000

/** Of all tables of the process. */
const inTurn = openTurns(searchesAtOnce)

export type DecisionTable = Awaited<ReturnType<typeof openTable>>
type Answer = Awaited<ReturnType<ReturnType<Table['query']>['toArrow']>>

/** The values of a column; an answer without rows has no columns. */
const column = <T>(answer: Answer, name: string, as: (value: unknown) => T): T[] =>
  answer.numRows === 0 ? [] : Array.from(answer.getChild(name)!, as)

export async function openTable({ lancedb, connection }: Engine, name: string, state: StoredState) {
  const rows = await connection.openTable(name)
  await rows.checkout(state.version)
  // The statistics themselves go on to count what changes after this version.
  const { decisions, indexed } = state.stats
  const { version, unindexed } = state
  const isPartial = unindexed > maxUnindexed
  const fast = <Q extends { fastSearch(): Q }>(query: Q): Q => (isPartial ? query.fastSearch() : query)

  function near({ vector, side }: VectorQuery, where: readonly string[], limit: number) {
    const query = rows.query().nearestTo(vector).column(side).distanceType('cosine').limit(limit)
    const all = indexed < decisions ? ['indexed', ...where] : where
    return all.length === 0 ? query : query.where(all.join(' AND '))
  }

  /** The conditions of a filter for an exact search; as the operand of `IS TRUE` no scalar index is used. */
  async function exactly(filter: DecisionFilter): Promise<string[]> {
    const where = conditions(filter).join(' AND ')
    if (where === '') return []
    return (await rows.countRows(where)) > fewRows * decisions ? [`(${where}) IS TRUE`] : [where]
  }

  const hits = (answer: Answer): VectorHit[] => {
    const distances = column(answer, '_distance', Number)
    return column(answer, 'id', String).map((id, at) => ({ id, distance: Math.min(2, Math.max(0, distances[at]!)) }))
  }

  return {
    version,
    decisions,
    /** Rows that its indices lack. */
    unindexed,
    /** How many of them searches leave out. */
    left_out: isPartial ? unindexed : 0,
    /** Whether all decisions have vectors. */
    allIndexed: indexed === decisions,
    /** What the table holds of these decisions. */
    async find(ids: readonly string[]): Promise<Map<string, Counted>> {
      const found = new Map<string, Counted>()
      for (let at = 0; at < ids.length; at += idsAtOnce) {
        const some = rows.query().where(anyOf('id', ids.slice(at, at + idsAtOnce)))
        const answer = await some.select(['id', 'terms', 'indexed']).toArrow()
        const terms = column(answer, 'terms', String)
        const vectors = column(answer, 'indexed', Boolean)
        column(answer, 'id', String).forEach((id, row) => {
          found.set(id, { terms: terms[row]!, vectors: vectors[row]! })
        })
      }
      return found
    },
    /** The whole rows of these decisions; several of one if it was added again. */
    async rows(ids: readonly string[]): Promise<Record<string, unknown>[]> {
      const found = await rows.query().where(anyOf('id', ids)).toArray()
      return found.map((row) => ({ ...row }))
    },
    count_all: () => rows.countRows(),
    /** About the `limit` nearest, each with its exact distance. */
    async nearest(query: VectorQuery, filter: DecisionFilter, limit: number, exact: boolean): Promise<VectorHit[]> {
      if (indexed === 0 || filter.indexed === false) return []
      const probed = Math.max(probes.min, Math.ceil((probes.share * indexed) / probes.partition))
      const refined = Math.ceil(Math.max(compared.min, compared.times * limit) / limit)
      // An exact search asks for more too, so that of equally near decisions the first ids are among them.
      return inTurn(async () => {
        const asked = exact
          ? near(query, await exactly(filter), Math.max(compared.min, limit)).bypassVectorIndex()
          : fast(near(query, conditions(filter), limit).refineFactor(refined).maximumNprobes(0).minimumNprobes(probed))
        return hits(await asked.select(['id', '_distance']).toArrow())
      })
    },
    /** The exact distances of these that are in the table and have vectors. */
    async distances(query: VectorQuery, ids: readonly string[]): Promise<VectorHit[]> {
      if (indexed === 0 || ids.length === 0) return []
      const asked = near(query, [anyOf('id', ids)], ids.length).bypassVectorIndex()
      return hits(await inTurn(() => asked.select(['id', '_distance']).toArrow()))
    },
    /** The `limit` best decisions that contain one of the terms, and others, each with its terms. */
    async candidates(terms: readonly string[], filter: DecisionFilter, limit: number) {
      const match = fast(rows.query().fullTextSearch(new lancedb.MatchQuery(terms.join(' '), 'terms')))
      const where = conditions(filter).join(' AND ')
      const asked = (where === '' ? match : match.where(where)).limit(Math.max(minCandidates, limit))
      // LanceDB warns if a keyword search does not select its score.
      const answer = await inTurn(() => asked.select(['id', 'terms', '_score']).toArrow())
      const texts = column(answer, 'terms', String)
      return column(answer, 'id', String).map((id, at) => ({ id, terms: texts[at]! }))
    },
    /** Ids of the decisions that contain all of the terms. */
    async idsContainingAll(terms: readonly string[]): Promise<string[]> {
      const asked = fast(rows.query().where(hasOf('words', 'all', terms)))
      return column(await inTurn(() => asked.select(['id']).toArrow()), 'id', String)
    },
    /** Number of decisions that contain one of the terms and pass. @param hidden are not counted */
    async count(terms: readonly string[], filter: DecisionFilter, hidden: ReadonlySet<string>): Promise<number> {
      const passing = [hasOf('words', 'any', terms), ...conditions(filter)].join(' AND ')
      const count = (where: string): Promise<number> =>
        inTurn(async () =>
          isPartial
            ? (await fast(rows.query().where(where)).select(['_rowid']).toArrow()).numRows
            : rows.countRows(where),
        )
      const all = await count(passing)
      if (all === 0 || hidden.size === 0) return all
      return all - (await count(`${passing} AND ${anyOf('id', [...hidden])}`))
    },
    close() {
      try {
        rows.close()
      } catch {
        // A search is using it: it is freed when it is collected.
      }
    },
  }
}
