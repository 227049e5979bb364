/** cstp.getReasonStats: which kinds of reasons lead to success. */
import * as v from 'valibot'
import { fraction } from '../../sdk/schema/decision.ts'
import { trackedParams, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { reasonStats } from '../domain/calibration/reasons.ts'
import { inputTypes, noteInput } from '../domain/deliberation/inputs.ts'

const d = v.description

export const getReasonStats = defineMethod({
  summary: 'Shows how often decisions succeed by the types of their reasons.',
  params: v.object({
    min_reviewed: v.pipe(v.optional(whole(0, 1_000_000), 10), d('With fewer reviewed decisions no rates are given.')),
    ...trackedParams,
  }),
  result: v.object({
    success_rates: v.pipe(v.record(v.string(), fraction), d('Mean result by type.')),
    diversity_score: v.pipe(fraction, d('How evenly the types are used: 0 for one type, 1 for all alike.')),
    dominant_type: v.pipe(v.nullable(v.string()), d('The most used type; null without reasons.')),
    insufficient_data: v.pipe(v.boolean(), d('True with fewer than min_reviewed.')),
    reviewed_decisions: v.pipe(v.number(), d('Reviewed decisions in all.')),
    types: v.pipe(
      v.array(
        v.object({
          type: v.string(),
          uses: v.pipe(v.number(), d('Reasons of the type.')),
          scored: v.pipe(v.number(), d('Scored decisions with one.')),
          mean_strength: v.pipe(v.nullable(v.number()), d('Mean weight.')),
          success_rate: v.pipe(v.nullable(fraction), d('Mean result.')),
          brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
        }),
      ),
      d('All types in use, the most used first.'),
    ),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_reason_stats',
    title: 'Get reason statistics',
    description: 'How often decisions succeed by the type of their reasons, and whether you lean on one type too much.',
  },
  failure: 'internal_error',
  async handle(call, { min_reviewed, ...names }) {
    const { decisions } = call.store
    const stats = reasonStats(await decisions.reasons(), await decisions.count({ status: ['reviewed'] }), min_reviewed)
    noteInput(call, names, {
      type: inputTypes.stats,
      text: `Reason statistics: mostly ${stats.dominant_type ?? 'none'}`,
      data: null,
    })
    return stats
  },
})
