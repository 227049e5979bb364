/** cstp.getReasonStats: which kinds of reasons lead to success. */

import * as v from 'valibot'
import { readParams, whole } from '../../sdk/schema/params.ts'
import { outcomeGroups, reasonGroups } from '../../sdk/storage/groups.ts'
import { defineMethod, trackedInput } from '../calls/method.ts'
import { ReasonStats, reasonStats } from '../domain/learn/calibration/reasons.ts'
import { inputTypes, noteInput } from '../domain/record/deliberation/inputs.ts'

const d = v.description

const params = v.object({
  min_reviewed: v.pipe(
    v.optional(whole(0, 1_000_000), 10),
    d('Minimum number of reviewed decisions; with fewer, no rates are returned.'),
  ),
  ...readParams,
})

export const getReasonStats = defineMethod({
  summary: 'Compares the success rate of reviewed decisions with and without each type of reason.',
  params,
  result: ReasonStats,
  scope: 'read',
  effect: 'read',
  cost: 64,
  mcp: {
    name: 'get_reason_stats',
    title: 'Get reason statistics',
    description:
      'Get the success rate of reviewed decisions by type of reason, and whether you rely on one type too much.',
    input: trackedInput(params),
  },
  async handle(call, { min_reviewed, ...names }) {
    const { decisions } = call.store
    const reviewed = await outcomeGroups(decisions, { status: ['reviewed'] })
    const stats = reasonStats(await reasonGroups(decisions), reviewed, min_reviewed)
    noteInput(call, names, {
      type: inputTypes.stats,
      text: `Reason statistics: mostly ${stats.dominant_type ?? 'none'}`,
      data: null,
    })
    return stats
  },
})
