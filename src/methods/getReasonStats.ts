/** cstp.getReasonStats: which kinds of reasons lead to success. */
import * as v from 'valibot'
import { readParams, whole } from '../../sdk/schema/params.ts'
import { defineMethod, trackedInput } from '../calls/method.ts'
import { ReasonStats, reasonStats } from '../domain/calibration/reasons.ts'
import { inputTypes, noteInput } from '../domain/deliberation/inputs.ts'

const d = v.description

const params = v.object({
  min_reviewed: v.pipe(v.optional(whole(0, 1_000_000), 10), d('With fewer reviewed decisions no rates are given.')),
  ...readParams,
})

export const getReasonStats = defineMethod({
  summary:
    'Shows how often decisions succeed by the types of their reasons, against those without such a reason. Reviewed decisions only.',
  params,
  result: ReasonStats,
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_reason_stats',
    title: 'Get reason statistics',
    description:
      'How often reviewed decisions succeed by the types of their reasons, and whether you lean on one too much.',
    input: trackedInput(params),
  },
  failure: 'internal_error',
  async handle(call, { min_reviewed, ...names }) {
    const { decisions } = call.store
    const reviewed = await decisions.outcomes({ status: ['reviewed'] })
    const stats = reasonStats(await decisions.reasons(), reviewed, min_reviewed)
    noteInput(call, names, {
      type: inputTypes.stats,
      text: `Reason statistics: mostly ${stats.dominant_type ?? 'none'}`,
      data: null,
    })
    return stats
  },
})
