/** cstp.listDecisions: decisions filtered by their fields, sorted and paged. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { DecisionRecord, text } from '../../sdk/schema/decision.ts'
import { sortNames } from '../../sdk/schema/decision-fields.ts'
import { ListFilters, shortened, whole } from '../../sdk/schema/params.ts'
import { parseRecord, type RecordText } from '../../sdk/storage/decisions.ts'
import { defineMethod } from '../calls/method.ts'
import { JsonText, printPage } from '../calls/page.ts'
import type { Call } from '../calls/services.ts'
import { memoize } from '../core/canonical.ts'
import { toListFilter } from '../domain/record/decision/lookup.ts'
import { openPast } from '../domain/record/history/past.ts'
import { limitSearch } from '../domain/search/past.ts'
import { queryTerms } from '../domain/search/terms.ts'

const params = v.object({
  limit: v.pipe(v.optional(whole(1, 500), 20), v.description('Maximum number of decisions.')),
  offset: v.pipe(v.optional(whole(0, 10_000_000), 0), v.description('Number of decisions to skip.')),
  ...ListFilters,
  search: v.optional(v.pipe(text(10_000), v.description('Only decisions that contain every word of this text.'))),
  sort: v.pipe(
    v.optional(v.picklist(sortNames), 'created_at'),
    v.description('Field to sort by; stakes are sorted by rank.'),
  ),
  order: v.optional(v.picklist(['asc', 'desc']), 'desc'),
  as_of: AsOf,
})
const page = { list: 'decisions' }

/** Kept for as long as the store keeps the text: without it a list of 20 takes four times as long. */
const rowOf = memoize((text: RecordText) => {
  const { deliberation: _, ...record } = parseRecord(text)
  return new JsonText([JSON.stringify(record)])
})

async function list(
  call: Call,
  { limit, offset, search, sort, order, as_of, ...filters }: v.InferOutput<typeof params>,
) {
  const past = as_of === undefined ? null : await openPast(call, as_of)
  const { decisions } = (past ?? call).store
  const filter = toListFilter(filters)
  const terms = search === undefined ? [] : queryTerms(search)
  const ids = terms.length > 0 && { ids: await call.index.idsContainingAll({ terms }) }
  const { texts, total } = await decisions.list({ filter, ...ids, sort, order, offset, limit })
  if (past && ids)
    await limitSearch(
      past,
      call.store,
      texts.map(({ id }) => id),
    )
  const rest = { total, limit, offset, ...(past && { as_of: past.block() }) }
  return printPage({ decisions: texts.map(rowOf), ...rest }, page)
}

export const listDecisions = defineMethod({
  summary: 'Lists decisions, with filters, sorting and paging.',
  params,
  result: v.object({
    decisions: v.pipe(
      v.array(v.omit(DecisionRecord, ['deliberation'])),
      v.description('Full records without their deliberation.'),
    ),
    total: v.pipe(v.number(), v.description('Decisions that match the filters.')),
    limit: v.number(),
    offset: v.number(),
    shortened,
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  page,
  effect: 'read',
  handle: list,
})
