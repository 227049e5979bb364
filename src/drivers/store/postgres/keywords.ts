/** BM25 in SQL over postings: the same figures as the resident index of the embedded store. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { DecisionFilter, DecisionReader, Terms } from '../../../../sdk/storage/store.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { curve, weight } from '../resident/bm25.ts'
import { nearestTerms } from '../resident/near-terms.ts'
import { whereOf } from './filter.ts'

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

/** A term of the question that some decision holds. */
interface Weighed {
  term: string
  weight: number
  holding: number
}

/** The terms asked for that some decision holds, with their weights. */
const weigh = (terms: readonly string[], { decisions, holding }: Corpus): Weighed[] =>
  terms.flatMap((term) => {
    const held = holding.get(term)
    return held === undefined ? [] : [{ term, weight: weight(decisions, held), holding: held }]
  })

const parametersOf = (terms: readonly Weighed[], { decisions, length }: Corpus): unknown[] => {
  const { base, slope } = curve(decisions, length)
  return [terms.map(({ term }) => toText(term)), terms.map((one) => one.weight), base, slope]
}

/** Scores are summed as whole multiples of 2^-40, which doubles add without rounding: in any order, so that nothing need be sorted. */
const unit = `${2 ** 40}::float8`
/** Sum over the terms of what each adds, by decision. Parameters: terms, their weights, base and slope of the curve. */
const scores = `select p.num, sum(round(${unit} * w.weight * p.count / (p.count + $3::float8 + $4::float8 * p.length))) / ${unit} as score
  from unnest($1::text[], $2::float8[]) as w (term, weight) join postings p on p.term = w.term`

/** {@link scores} of what passes a filter. */
function passing(filter: DecisionFilter, values: unknown[]): string {
  const where = whereOf(filter, values)
  return where === 'true'
    ? `${scores} group by p.num`
    : `${scores} join decisions d on d.num = p.num where ${where} group by p.num`
}

/** What rounding may add or take. */
const noise = 1e-9
/** Decisions that are looked up one by one at most; more are quicker found by going through all postings. */
const mostNear = 3_000
/** Distinct terms of one first letter that are compared with a misspelt one. */
const mostTerms = 50_000

/** The score of the last that gets among the best. */
const lastOf = (limit: string) =>
  `coalesce((select score from found order by score desc offset ${limit} - 1 limit 1), 0)`

const held = (terms: readonly Weighed[]) => terms.reduce((sum, { holding }) => sum + holding, 0)

/**
 * The terms without which nothing gets among the best, the rarest of them all: the others together add less than the last of the best has
 * from these alone. Frequent words weigh little, and nearly every decision holds one (Turtle and Flood, "Query evaluation: strategies and
 * optimizations", 1995).
 */
async function essential(
  query: Query,
  all: readonly Weighed[],
  corpus: Corpus,
  filter: DecisionFilter,
  limit: number,
  many: number,
): Promise<{ terms: Weighed[]; rest: number }> {
  const whole = { terms: [...all], rest: 0 }
  if (held(all) <= many) return whole
  const rarest = all.toSorted((a, b) => a.holding - b.holding)
  /** What the terms from `from` on may add at most. */
  const restOf = (from: number) => rarest.slice(from).reduce((sum, one) => sum + one.weight, 0)
  const first = 1 + rarest.findIndex((_, at) => held(rarest.slice(0, at + 1)) >= 10 * limit)
  if (first === 0 || first === rarest.length) return whole
  const values = parametersOf(rarest.slice(0, first), corpus)
  const [bar] = await query<{ score: number }>(
    `select score from (${passing(filter, values)}) found order by score desc offset $${values.push(limit - 1)}::int limit 1`,
    values,
  )
  if (bar === undefined) return whole
  const enough = rarest.findIndex((_, at) => at >= first && restOf(at) + noise < bar.score)
  return enough === -1 ? whole : { terms: rarest.slice(0, enough), rest: restOf(enough) }
}

/** @param many postings from which a search looks for the terms that decide */
export function keywordReader(query: Query, many: number): Pick<DecisionReader, 'keyword' | 'nearTerms'> {
  const ranked = (found: string, limit: string) =>
    `with found as materialized (${found})
     select d.id, found.score from found join decisions d on d.num = found.num where found.score >= ${lastOf(limit)}
     order by found.score desc, d.id limit ${limit}`

  async function best(
    all: readonly Weighed[],
    corpus: Corpus,
    filter: DecisionFilter,
    limit: number,
  ): Promise<{ id: string; score: number }[]> {
    const { terms, rest } = await essential(query, all, corpus, filter, limit, many)
    if (terms.length < all.length) {
      const values = parametersOf(terms, corpus)
      const found = passing(filter, values)
      const near = await query<{ num: string }>(
        `with found as materialized (${found})
         select num::text as num from found where score + $${values.push(rest + noise)}::float8 >= ${lastOf(`$${values.push(limit)}::int`)}
         limit ${mostNear + 1}`,
        values,
      )
      if (near.length <= mostNear)
        return query(ranked(`${scores} where p.num = any($5::bigint[]) group by p.num`, '$6::int'), [
          ...parametersOf(all, corpus),
          near.map(({ num }) => num),
          limit,
        ])
    }
    const values = parametersOf(all, corpus)
    const found = passing(filter, values)
    return query(ranked(found, `$${values.push(limit)}::int`), values)
  }

  /** How many hold a term and pass; with `bare`, only those without vectors. */
  async function count(terms: readonly Weighed[], filter: DecisionFilter, bare: boolean): Promise<number> {
    const values: unknown[] = [terms.map(({ term }) => toText(term))]
    const where = whereOf(filter, values)
    const from = `${bare ? 'changes c join postings p on p.num = c.num' : 'postings p'}${where === 'true' ? '' : ' join decisions d on d.num = p.num'}`
    const [row] = await query<{ count: number }>(
      `select count(*)::float8 as count from (select p.num from ${from}
         where ${bare ? 'not c.indexed and ' : ''}p.term = any($1::text[]) and ${where} group by p.num) found`,
      values,
    )
    return row!.count
  }

  async function scoresOf(
    all: readonly Weighed[],
    corpus: Corpus,
    ids: readonly string[],
  ): Promise<Map<string, number>> {
    const known = await query<{ id: string; num: string }>(
      'select id, num::text as num from decisions where id = any($1::text[])',
      [[...ids]],
    )
    const existing = new Map(known.map(({ id, num }) => [num, id]))
    const known_ids = new Set(existing.values())
    const found = new Map(ids.filter((id) => known_ids.has(id)).map((id) => [id, 0]))
    if (all.length === 0 || found.size === 0) return found
    const rows = await query<{ num: string; score: number }>(
      `select num::text as num, score from (${scores} where p.num = any($5::bigint[]) group by p.num) found`,
      [...parametersOf(all, corpus), [...existing.keys()]],
    )
    for (const { num, score } of rows) found.set(existing.get(num)!, score)
    return found
  }

  return {
    async keyword({ terms, filter, limit, also = [], counted = true }) {
      const corpus = await corpusOf(query, terms)
      const all = weigh(terms, corpus)
      const ideal = terms.reduce((sum, term) => sum + weight(corpus.decisions, corpus.holding.get(term) ?? 0), 0)
      const [hits, total, total_unindexed, others] = await Promise.all([
        all.length === 0 || limit <= 0 ? [] : best(all, corpus, filter, limit),
        all.length === 0 || !counted ? 0 : count(all, filter, false),
        all.length === 0 || limit <= 0 ? 0 : count(all, filter, true),
        also.length === 0 ? new Map<string, number>() : scoresOf(all, corpus, also),
      ])
      return { hits: hits.map(({ id, score }) => ({ id, score })), total, total_unindexed, ideal, also: others }
    },
    async nearTerms({ term, max_edits, limit }) {
      if (term === '') return []
      if (limit === 1) {
        const own = (await corpusOf(query, [term])).holding.get(term) ?? 0
        if (own > 0) return [{ term, edits: 0, decisions: own }]
      }
      const first = toText([...term][0]!)
      // A skip scan: one look-up in the index for each distinct term, however many decisions hold it.
      const rows = await query<{ term: string }>(
        `with recursive terms as (
           (select term from postings where term >= $1::text and starts_with(term, $1::text) order by term limit 1)
           union all
           select (select p.term from postings p where p.term > terms.term and starts_with(p.term, $1::text) order by p.term limit 1)
           from terms where terms.term is not null)
         select term from terms where term is not null and abs(length(term) - $2::int) <= $3::int limit ${mostTerms}`,
        [first, term.length, max_edits],
      )
      const near = nearestTerms(
        rows.map((row): [string, number] => [fromText(row.term), 0]),
        term,
        max_edits,
        rows.length,
      )
      const held = await corpusOf(
        query,
        near.map((one) => one.term),
      )
      return nearestTerms(held.holding, term, max_edits, limit)
    },
  }
}

/** The decisions that hold all of these terms, as a condition on `d`. */
export const holdsAll = (terms: readonly string[], values: unknown[]): string =>
  `d.num in (select num from postings where term = any($${values.push(terms.map(toText))}::text[])
     group by num having count(*) = ${terms.length})`

export type Analyse = (record: DecisionRecord) => Terms
