/** cstp.listDecisions: decisions by their fields, sorted and paged. */
import * as v from 'valibot'
import { DecisionRecord, text } from '../../sdk/schema/decision.ts'
import { ListFilters, shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { createdBetween, given, listed } from '../domain/decision/lookup.ts'
import { queryTerms } from '../domain/search/terms.ts'

export const listDecisions = defineMethod({
  summary: 'Lists decisions by their fields, sorted and paged.',
  params: v.object({
    limit: v.pipe(v.optional(whole(1, 500), 20), v.description('Most decisions returned.')),
    offset: v.pipe(v.optional(whole(0, 10_000_000), 0), v.description('Decisions to skip.')),
    ...ListFilters,
    search: v.optional(v.pipe(text(10_000), v.description('Only decisions with every word of this.'))),
    sort: v.pipe(
      v.optional(v.picklist(['created_at', 'confidence', 'category', 'stakes', 'status']), 'created_at'),
      v.description('Stakes sort by rank.'),
    ),
    order: v.optional(v.picklist(['asc', 'desc']), 'desc'),
  }),
  result: v.object({
    decisions: v.pipe(
      v.array(v.omit(DecisionRecord, ['deliberation'])),
      v.description('Full records without their deliberation.'),
    ),
    total: v.pipe(v.number(), v.description('Decisions that pass the filters.')),
    limit: v.number(),
    offset: v.number(),
    shortened,
  }),
  scope: 'read',
  page: { list: 'decisions' },
  effect: 'read',
  failure: 'internal_error',
  async handle(
    { store },
    { limit, offset, search, sort, order, date_from, date_to, stakes, status, outcome, ...rest },
  ) {
    const filter = {
      ...given({ ...rest, stakes: listed(stakes), status: listed(status), outcome: listed(outcome) }),
      ...createdBetween(date_from, date_to),
    }
    const terms = search === undefined ? [] : queryTerms(search)
    const { records, total } = await store.decisions.list({ filter, terms, sort, order, offset, limit })
    return { decisions: records.map(({ deliberation: _, ...record }) => record), total, limit, offset }
  },
})
