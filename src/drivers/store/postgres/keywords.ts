/** BM25 in SQL over postings: the same figures as the resident index of the embedded store. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { DecisionReader, Terms } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../postgres/client.ts'
import { fromText, toText } from '../../postgres/text.ts'
import { curve, weight } from '../bm25.ts'
import { isIndexed, whereOf } from './filter.ts'

/** Rows of totals from which a reader folds them into one. */
const foldFrom = 256

/** Writes the terms of a decision in place of those before. @returns their length */
export async function putTerms(query: Query, num: number, terms: Terms, before: number | null): Promise<void> {
  if (before !== null) await query('delete from postings where num = $1::bigint', [num])
  const counts = [...terms.counts]
  await query(
    `insert into postings (term, num, count, length)
     select t, $1::bigint, c, $4::int from unnest($2::text[], $3::int[]) as given (t, c)`,
    [num, counts.map(([term]) => toText(term)), counts.map(([, count]) => count), terms.length],
  )
  await query('insert into text_totals (decisions, length) values ($1::bigint, $2::bigint)', [
    before === null ? 1 : 0,
    terms.length - (before ?? 0),
  ])
}

/** What is asked of the postings, once for each query. */
interface Corpus {
  decisions: number
  length: number
  /** Decisions that hold each of the terms asked for. */
  holding: Map<string, number>
}

async function corpusOf(query: Query, terms: readonly string[]): Promise<Corpus> {
  const [[totals], rows] = await Promise.all([
    query<{ decisions: number; length: number; rows: number }>(
      `select coalesce(sum(decisions), 0)::float8 as decisions, coalesce(sum(length), 0)::float8 as length, count(*)::int as rows
       from text_totals`,
    ),
    query<{ term: string; holding: number }>(
      'select term, count(*)::float8 as holding from postings where term = any($1::text[]) group by term',
      [terms.map(toText)],
    ),
  ])
  const { decisions, length, rows: kept } = totals!
  if (kept > foldFrom) await foldTotals(query)
  return { decisions, length, holding: new Map(rows.map(({ term, holding }) => [fromText(term), holding])) }
}

/** One row in place of many, those that another reader folds left out. */
const foldTotals = (query: Query): Promise<unknown> =>
  query(
    `with taken as (delete from text_totals where ctid = any(array(select ctid from text_totals for update skip locked)) returning *)
     insert into text_totals (decisions, length) select sum(decisions), sum(length) from taken having count(*) > 0`,
  )

/** Sum over the terms, in their order, of what each adds, by decision. Parameters: terms, their weights, base and slope of the curve. */
const scores = `select p.num, sum(w.weight * (p.count / (p.count + $3::float8 + $4::float8 * d.length)) order by w.n) as score
  from unnest($1::text[], $2::float8[]) with ordinality as w (term, weight, n)
  join postings p on p.term = w.term
  join decisions d on d.num = p.num`

export function keywordReader(query: Query): Pick<DecisionReader, 'keyword' | 'keywordScores'> {
  /** Parameters of {@link scores}, in the order in which the terms were asked for; the sum is over the same order everywhere. */
  function parametersOf(terms: readonly string[], { decisions, length, holding }: Corpus): unknown[] {
    const weights = terms.map((term) => weight(decisions, holding.get(term) ?? 0))
    const { base, slope } = curve(decisions, length)
    return [terms.map(toText), weights, base, slope]
  }
  return {
    async keyword({ terms, filter, limit }) {
      if (terms.length === 0) return { hits: [], total: 0, total_unindexed: 0, ideal: 0 }
      const corpus = await corpusOf(query, terms)
      const ideal = terms.reduce((sum, term) => sum + weight(corpus.decisions, corpus.holding.get(term) ?? 0), 0)
      const values = parametersOf(terms, corpus)
      const where = whereOf(filter, values)
      const rows = await query<{ id: string | null; score: number; total: number; total_unindexed: number }>(
        `with found as materialized (${scores} where ${where} group by p.num),
           counted as (select count(*)::float8 as total,
             (count(*) filter (where not ${isIndexed.replaceAll('d.num', 'found.num')}))::float8 as total_unindexed from found),
           best as (select d.id, found.score from found join decisions d on d.num = found.num
             order by found.score desc, d.id limit $${values.push(limit)}::int)
         select best.id, best.score, counted.total, counted.total_unindexed from counted left join best on true
         order by best.score desc, best.id`,
        values,
      )
      const { total, total_unindexed } = rows[0]!
      const hits = rows.flatMap(({ id, score }) => (id === null ? [] : [{ id, score }]))
      return { hits, total, total_unindexed, ideal }
    },
    async keywordScores(terms, ids) {
      const known = await query<{ id: string; num: string }>(
        'select id, num::text as num from decisions where id = any($1::text[])',
        [[...ids]],
      )
      const existing = new Set(known.map(({ id }) => id))
      const found = new Map(ids.filter((id) => existing.has(id)).map((id) => [id, 0]))
      if (terms.length === 0 || known.length === 0) return found
      const values = parametersOf(terms, await corpusOf(query, terms))
      const rows = await query<{ id: string; score: number }>(
        `select d.id, s.score from (${scores} where p.num = any($5::bigint[]) group by p.num) s join decisions d on d.num = s.num`,
        [...values, known.map(({ num }) => num)],
      )
      for (const { id, score } of rows) found.set(id, score)
      return found
    },
  }
}

/** The decisions that hold all of these terms, as a condition on `d`. */
export const holdsAll = (terms: readonly string[], values: unknown[]): string =>
  `d.num in (select num from postings where term = any($${values.push(terms.map(toText))}::text[])
     group by num having count(*) = ${terms.length})`

export type Analyse = (record: DecisionRecord) => Terms
