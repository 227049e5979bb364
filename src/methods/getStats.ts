/** cstp.getStats: counts of decisions by kind and time. */

import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { ListFilters } from '../../sdk/schema/params.ts'
import { type CountKey, countBy, countDecisions } from '../../sdk/storage/groups.ts'
import { defineMethod } from '../calls/method.ts'
import { dayMs, lastDays } from '../core/time.ts'
import { toListFilter } from '../domain/record/decision/lookup.ts'
import { openPast } from '../domain/record/history/past.ts'

const counts = v.record(v.string(), v.number())
const topTags = 20

export const getStats = defineMethod({
  summary: 'Counts decisions by category, stakes, status, outcome, agent, project, day and tag.',
  params: v.object({
    ...ListFilters,
    as_of: AsOf,
  }),
  result: v.object({
    total: v.number(),
    by_category: counts,
    by_stakes: counts,
    by_status: counts,
    by_outcome: v.pipe(counts, v.description('Reviewed decisions only.')),
    by_agent: counts,
    by_project: counts,
    by_day: v.pipe(
      v.array(v.object({ date: v.string(), count: v.number() })),
      v.description('Days (UTC) with decisions, ascending.'),
    ),
    top_tags: v.pipe(
      v.array(v.object({ tag: v.string(), count: v.number() })),
      v.description(`The ${topTags} most used tags.`),
    ),
    recent_activity: v.object({ last_24h: v.number(), last_7d: v.number(), last_30d: v.number() }),
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  effect: 'read',
  cost: 4,
  async handle(call, { as_of, ...filters }) {
    const past = as_of === undefined ? null : await openPast(call, as_of)
    const { store, now } = past ?? call
    const { decisions } = store
    const filter = toListFilter(filters)
    const by = async (key: CountKey) =>
      Object.fromEntries((await countBy(decisions, filter, key)).map(({ value, count }) => [value, count]))
    // Counts the last days before now, limited to the requested period.
    const since = (from_ms: number) =>
      countDecisions(decisions, {
        ...filter,
        created_from_ms: Math.max(filter.created_from_ms ?? Number.NEGATIVE_INFINITY, from_ms),
      })
    const [
      total,
      days,
      tags,
      by_category,
      by_stakes,
      by_status,
      by_outcome,
      by_agent,
      by_project,
      last_24h,
      last_7d,
      last_30d,
    ] = await Promise.all([
      countDecisions(decisions, filter),
      countBy(decisions, filter, 'day'),
      countBy(decisions, filter, 'tag'),
      by('category'),
      by('stakes'),
      by('status'),
      by('outcome'),
      by('agent'),
      by('project'),
      since(now() - dayMs),
      since(lastDays(now(), 7)),
      since(lastDays(now(), 30)),
    ])
    return {
      total,
      by_category,
      by_stakes,
      by_status,
      by_outcome,
      by_agent,
      by_project,
      by_day: days.map(({ value, count }) => ({ date: value, count })),
      top_tags: tags.slice(0, topTags).map(({ value, count }) => ({ tag: value, count })),
      recent_activity: { last_24h, last_7d, last_30d },
      ...(past && { as_of: past.block() }),
    }
  },
})
