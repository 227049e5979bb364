/** One segment, read: it gives candidates of both searches, the terms and vectors to score them exactly, and how many decisions hold a term. */
import type { Table } from '@lancedb/lancedb'
import type { VectorHit, VectorQuery } from '../../../../sdk/storage/search.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { anyOf, conditions } from './filter.ts'
import { closeQuietly, type Engine } from './library.ts'
import type { SegmentFacts } from './manifest.ts'
import { spellingsNear, wordsTable } from './words.ts'

/** A decision's text, to be scored. */
export interface Text {
  id: string
  terms: string
  length: number
  /** Whether it has vectors. */
  indexed: boolean
}

/** Of about √n partitions so many are searched, and so many candidates are compared by their full vectors: a recall@10 above .99. */
const PROBES = 24
const COMPARED = 300
/** At least so many times what is asked for. */
const REFINED = 4
/** Ids that one look-up names. */
const ASKED = 1_000
/** Words whose counts are remembered. */
const REMEMBERED = 20_000

type Found = Awaited<ReturnType<ReturnType<Table['query']>['toArrow']>>
/** A query of decisions, made but not run. */
type Asked = { select(columns: string[]): Asked; toArrow(): Promise<Found> }

/** The values of a column; an answer without rows has no columns. */
const column = <T>(found: Found, name: string, as: (value: unknown) => T): T[] =>
  found.numRows === 0 ? [] : Array.from(found.getChild(name)!, as)

/** Adds the counts of each word up. */
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

export async function openSegment({ lancedb, connection }: Engine, facts: SegmentFacts) {
  const open = async (name: string, version: number): Promise<Table> => {
    const table = await connection.openTable(name)
    await table.checkout(version)
    return table
  }
  const rows = await open(facts.name, facts.version)
  const words = await open(wordsTable(facts.name), facts.words_version)
  const counts = new Map<string, number>()

  const filtered = <Q extends { where(predicate: string): Q }>(query: Q, terms: readonly string[]): Q =>
    terms.length === 0 ? query : query.where(terms.join(' AND '))

  /** Decisions that hold one of the terms, or every one. */
  const matching = (terms: readonly string[], every: boolean) =>
    rows
      .query()
      .fullTextSearch(
        new lancedb.MatchQuery(terms.join(' '), 'terms', {
          operator: every ? lancedb.Operator.And : lancedb.Operator.Or,
        }),
      )
      .fastSearch()

  const ranked = async (query: Asked): Promise<VectorHit[]> => {
    const found = await query.toArrow()
    const distances = column(found, '_distance', Number)
    return column(found, 'id', String)
      .map((id, row) => ({ id, distance: Math.min(2, Math.max(0, distances[row]!)) }))
      .sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
  }

  const texts = async (query: Asked, scored = false): Promise<Text[]> => {
    // A search by keyword that does not name its score warns.
    const columns = ['id', 'terms', 'length', 'indexed', ...(scored ? ['_score'] : [])]
    const found = await query.select(columns).toArrow()
    const [terms, lengths] = [column(found, 'terms', String), column(found, 'length', Number)]
    const indexed = column(found, 'indexed', Boolean)
    return column(found, 'id', String).map((id, row) => ({
      id,
      terms: terms[row]!,
      length: lengths[row]!,
      indexed: indexed[row]!,
    }))
  }

  const near = ({ vector, side }: VectorQuery, terms: readonly string[], limit: number) => {
    const query = rows.query().nearestTo(vector).column(side).distanceType('cosine')
    return filtered(query, facts.indexed < facts.decisions ? ['indexed', ...terms] : terms)
      .select(['id', '_distance'])
      .limit(limit)
  }

  return {
    facts,
    /** The `k` nearest, by distance, then id. */
    async nearest(query: VectorQuery & { k: number; filter: DecisionFilter; exact: boolean }): Promise<VectorHit[]> {
      if (facts.indexed === 0 || query.filter.indexed === false) return []
      const { k, filter, exact } = query
      for (let asked = k + 1; ; asked *= 2) {
        const one = near(query, conditions(filter), asked)
        const found = await ranked(
          exact
            ? one.bypassVectorIndex()
            : one
                .maximumNprobes(0)
                .minimumNprobes(PROBES)
                .refineFactor(Math.max(REFINED, Math.ceil(COMPARED / asked))),
        )
        // LanceDB breaks ties arbitrarily: ask for more until all that tie with the last one are found.
        const isTied = found.length === asked && found[k - 1]!.distance === found.at(-1)!.distance
        if (!isTied) return found.slice(0, k)
      }
    },
    /** The exact distance of each of these that is here and has vectors. */
    async distances(query: VectorQuery & { ids: readonly string[] }): Promise<VectorHit[]> {
      if (facts.indexed === 0) return []
      const found: VectorHit[] = []
      for (let at = 0; at < query.ids.length; at += ASKED) {
        const ids = query.ids.slice(at, at + ASKED)
        found.push(...(await ranked(near(query, [anyOf('id', ids)], ids.length).bypassVectorIndex())))
      }
      return found
    },
    /** The decisions that hold terms and pass, the best of them first, roughly. */
    candidates: (terms: readonly string[], filter: DecisionFilter, limit: number): Promise<Text[]> =>
      texts(filtered(matching(terms, false).limit(limit), conditions(filter)), true),
    /** Ids of the decisions that hold every one of the terms. */
    async holding(terms: readonly string[]): Promise<string[]> {
      const found = await matching(terms, true).select(['id', '_score']).limit(facts.decisions).toArrow()
      return column(found, 'id', String)
    },
    /** How many hold one of the terms and pass. @param of these decisions only */
    async count(terms: readonly string[], filter: DecisionFilter, of?: readonly string[]): Promise<number> {
      const query = matching(terms, false).select(['_score']).limit(facts.decisions)
      const passing = [...conditions(filter), ...(of === undefined ? [] : [anyOf('id', of)])]
      return (await filtered(query, passing).toArrow()).numRows
    },
    /** Of these ids those that are here. */
    async texts(ids: readonly string[]): Promise<Text[]> {
      const found: Text[] = []
      for (let at = 0; at < ids.length; at += ASKED)
        found.push(...(await texts(rows.query().where(anyOf('id', ids.slice(at, at + ASKED))))))
      return found
    },
    /** How many decisions hold each of the terms. */
    async frequencies(terms: readonly string[]): Promise<number[]> {
      const unknown = terms.filter((term) => !counts.has(term))
      if (unknown.length > 0) {
        const found = await sums(words.query().where(anyOf('word', unknown)))
        if (counts.size > REMEMBERED) counts.clear()
        for (const term of unknown) counts.set(term, found.get(term) ?? 0)
      }
      return terms.map((term) => counts.get(term) ?? 0)
    },
    /** Words that could be within `max_edits` of a term, with how many decisions hold each. */
    async near(term: string, max_edits: number): Promise<Map<string, number>> {
      const found = await sums(words.query().where(anyOf('spelling', spellingsNear(term, max_edits))))
      return new Map([...found].filter(([word]) => word[0] === term[0]))
    },
    /** Some of the rows, as they are stored, and the counts of all words: to be written into a larger segment. */
    page: (offset: number, limit: number) => rows.query().offset(offset).limit(limit).toArrow(),
    counts: () => sums(words.query()),
    close() {
      closeQuietly(rows)
      closeQuietly(words)
    },
  }
}
