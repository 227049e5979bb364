/** Reads one segment: candidates of both searches, the terms and vectors to score them exactly, and the number of decisions that contain a term. */
import type { VectorQuery as LanceVectorQuery, Table } from '@lancedb/lancedb'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { VectorHit, VectorQuery } from '../../../../sdk/storage/search.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { holds } from './bits.ts'
import { addressesIn, column, type Found } from './columns.ts'
import { openExact } from './exact.ts'
import { anyOf, conditions } from './filter.ts'
import { flatFolder, openFlatReader } from './flat.ts'
import { closeQuietly, type Engine } from './library.ts'
import type { SegmentFacts } from './manifest.ts'
import { type Mask, openMasks } from './masks.ts'
import { EXACT_SIDE, type Text, type Weighing } from './reader.ts'
import { tableReader } from './table-reader.ts'
import { spellingsNear, wordsTable } from './words.ts'

/**
 * The vector index has partitions of this many vectors. This share of them is searched, or all if the share is less than the minimum: the ten
 * nearest are in them. Rows that pass a filter are farther away, so more partitions are searched for them.
 */
const PROBES = { least: 24, of: 4_096, share: 0.4, passing: 0.5 }
/**
 * Candidates by meaning requested from the vector index: at least this many, and this many times the wanted number. They are compared by
 * their full vectors until this many in a row are farther than the nearest before them.
 */
const COMPARED = { least: 200, times: 4, beyond: 64 }
/** `beyond` for an exact search, in which all vectors are scanned: LanceDB rounds its distances differently. */
const SPARE = 16
/** Candidates by keyword requested from LanceDB: at least this many, and this many times the wanted number, because it ranks by its own counts. */
const CANDIDATES = { least: 64, times: 2 }
/** If at least one row of this many passes the filter, the nearest of all rows are requested and filtered here, which is faster than in LanceDB. */
const MANY = 10
/** Words whose counts are cached. */
const REMEMBERED = 20_000

/** A query of decisions that has not been run yet. */
type Asked = { select(columns: string[]): Asked; toArrow(): Promise<Found> }

/** Sums the counts of each word. */
async function sums(query: Asked): Promise<Map<string, number>> {
  const found = await query.select(['word', 'decisions']).toArrow()
  const decisions = column(found, 'decisions', Number)
  const held = new Map<string, number>()
  column(found, 'word', String).forEach((word, row) => {
    held.set(word, (held.get(word) ?? 0) + decisions[row]!)
  })
  return held
}

export type Segment = Awaited<ReturnType<typeof openSegment>>

export async function openSegment({ lancedb, connection, folder }: Engine, facts: SegmentFacts) {
  const open = async (name: string, version: number): Promise<Table> => {
    const table = await connection.openTable(name)
    await table.checkout(version)
    return table
  }
  const rows = await open(facts.name, facts.version)
  const words = await open(wordsTable(facts.name), facts.words_version)
  const reader = folder === null ? tableReader(rows) : openFlatReader(flatFolder(folder, facts.name), facts.version)
  const counts = new Map<string, number>()

  const filtered = <Q extends { where(predicate: string): Q }>(query: Q, terms: readonly string[]): Q =>
    terms.length === 0 ? query : query.where(terms.join(' AND '))

  /** Decisions that contain one of the terms, or all of them. */
  const matching = (terms: readonly string[], every: boolean) =>
    rows
      .query()
      .fullTextSearch(
        new lancedb.MatchQuery(terms.join(' '), 'terms', {
          operator: every ? lancedb.Operator.And : lancedb.Operator.Or,
        }),
      )
      .fastSearch()

  const masks = reader.rows && openMasks(rows, reader.rows)
  const exactly = reader.nearestOfAll && masks && openExact(reader.nearestOfAll, masks)
  /** Which rows pass; null if all do, or if LanceDB must be asked. */
  const maskOf = async (filter: DecisionFilter): Promise<Mask | null> =>
    masks === null || isEmptyFilter(filter) ? null : masks.of(filter)

  /** The addresses of the `asked` nearest. @param share of the vector index that is searched; null for every vector itself */
  async function near({ vector, side }: VectorQuery, terms: readonly string[], asked: number, share: number | null) {
    const query = rows.query().nearestTo(vector).column(side).distanceType('cosine')
    const passing = filtered(query, facts.indexed < facts.decisions ? ['indexed', ...terms] : terms)
    const probing = share === null ? passing.bypassVectorIndex() : probed(passing, asked, share)
    return addressesIn(await probing.withRowId().select(['_rowid', '_distance']).limit(asked).toArrow())
  }

  function probed(query: LanceVectorQuery, asked: number, share: number): LanceVectorQuery {
    const probes = Math.ceil((share * facts.indexed) / PROBES.of)
    // If much of the segment is requested, a share of the index may not contain enough.
    if (probes <= PROBES.least || asked > facts.indexed / 10)
      return query.maximumNprobes(0).minimumNprobes(PROBES.least)
    return query.nprobes(probes)
  }

  /** Gives about this many of the nearest that pass, and whether there are no more. */
  async function nearest(query: VectorQuery & { filter: DecisionFilter; exact: boolean }) {
    const mask = query.exact ? null : await maskOf(query.filter)
    if (mask === null || facts.decisions > MANY * mask.passing) {
      const terms = conditions(query.filter)
      const share = query.exact ? null : terms.length === 0 ? PROBES.share : 1
      return async (asked: number) => {
        const addresses = await near(query, terms, asked, share)
        return { addresses, isAll: addresses.length < asked }
      }
    }
    return async (asked: number) => {
      const among = Math.ceil((asked * facts.decisions) / mask.passing)
      const found = await near(query, [], among, PROBES.passing)
      const addresses = found.filter((address) => holds(mask.bits, reader.rows!.rowOf(address)))
      return { addresses, isAll: found.length < among }
    }
  }

  return {
    facts,
    /** The `k` nearest within the distance `within`, by distance, then id. */
    async nearest(
      query: VectorQuery & { k: number; filter: DecisionFilter; exact: boolean; within: number },
    ): Promise<VectorHit[]> {
      if (facts.indexed === 0 || query.filter.indexed === false) return []
      const { side, k, filter, exact, within } = query
      const all = side === EXACT_SIDE ? exactly : null
      if (exact && all !== null) return all.nearest(query, filter)
      const beyond = exact ? SPARE : COMPARED.beyond
      const give = await nearest(query)
      for (let asked = exact ? k + SPARE : Math.max(COMPARED.least, COMPARED.times * k); ; asked *= 2) {
        const { addresses, isAll } = await give(asked)
        const { hits, isSettled } = await reader.nearest(query, addresses, k, beyond)
        if (isSettled || isAll) return hits.filter(({ distance }) => distance <= within)
        // All rows that pass are far from the question and nearly equally far: the index would have to return most of its rows.
        if (all !== null) return all.nearestOnce(query, filter)
      }
    },
    /** The exact distance of each of these that is in this segment and has vectors. */
    async distances(query: VectorQuery & { ids: readonly string[] }): Promise<VectorHit[]> {
      if (facts.indexed === 0) return []
      return (await reader.nearest(query, await reader.find(query.ids), query.ids.length)).hits
    },
    /** Number of candidates to request so that they include the `limit` best. */
    enough: (limit: number): number =>
      reader.words === null ? Math.max(CANDIDATES.least, CANDIDATES.times * limit) : limit,
    /** The `limit` best decisions that contain terms and pass, and others; in an object store approximately. */
    async candidates(weighing: Weighing, filter: DecisionFilter, limit: number): Promise<Text[]> {
      if (reader.words !== null) return reader.words.best(weighing, limit, (await maskOf(filter))?.bits ?? null)
      const query = filtered(matching(weighing.terms, false).limit(limit), conditions(filter))
      // LanceDB warns if a keyword search does not select its score.
      return reader.texts(addressesIn(await query.withRowId().select(['_rowid', '_score']).toArrow()))
    },
    /** Ids of the decisions that contain all of the terms. */
    async holding(terms: readonly string[]): Promise<string[]> {
      const found = await matching(terms, true).select(['id', '_score']).limit(facts.decisions).toArrow()
      return column(found, 'id', String)
    },
    /** Number of decisions that contain one of the terms and pass. @param of count only these decisions */
    async count(terms: readonly string[], filter: DecisionFilter, of?: readonly string[]): Promise<number> {
      if (reader.words !== null) return reader.words.count(terms, (await maskOf(filter))?.bits ?? null, of)
      const query = matching(terms, false).select(['_score']).limit(facts.decisions)
      const passing = [...conditions(filter), ...(of === undefined ? [] : [anyOf('id', of)])]
      return (await filtered(query, passing).toArrow()).numRows
    },
    /** The ids among these that are in this segment. */
    texts: async (ids: readonly string[]): Promise<Text[]> => reader.texts(await reader.find(ids)),
    /** The addresses of these ids, without those that are not in this segment. */
    find: reader.find,
    /** Number of decisions that contain each of the terms. */
    async frequencies(terms: readonly string[]): Promise<number[]> {
      const unknown = terms.filter((term) => !counts.has(term))
      if (unknown.length > 0) {
        const found =
          reader.words === null
            ? await sums(words.query().where(anyOf('word', unknown)))
            : new Map(unknown.map((term) => [term, reader.words!.frequency(term)]))
        if (counts.size > REMEMBERED) counts.clear()
        for (const term of unknown) counts.set(term, found.get(term) ?? 0)
      }
      return terms.map((term) => counts.get(term) ?? 0)
    },
    /** Words that could be within `max_edits` of a term, with the number of decisions that contain each. */
    async near(term: string, max_edits: number): Promise<Map<string, number>> {
      const found = await sums(words.query().where(anyOf('spelling', spellingsNear(term, max_edits))))
      return new Map([...found].filter(([word]) => word[0] === term[0]))
    },
    /** Some rows as stored, and the counts of all words, to be written into a larger segment. */
    page: (offset: number, limit: number) => rows.query().offset(offset).limit(limit).toArrow(),
    counts: () => sums(words.query()),
    close() {
      exactly?.close()
      reader.close()
      closeQuietly(rows)
      closeQuietly(words)
    },
  }
}

/** Opens all of these segments; if one fails, none stays open. */
export async function openSegments(engine: Engine, facts: readonly SegmentFacts[]): Promise<Segment[]> {
  const tried = await Promise.allSettled(facts.map((one) => openSegment(engine, one)))
  const opened = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const failed = tried.find((one) => one.status === 'rejected')
  if (failed === undefined) return opened
  for (const segment of opened) segment.close()
  throw failed.reason
}
