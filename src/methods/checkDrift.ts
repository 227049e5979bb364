/** cstp.checkDrift: whether results fell, and how recent decisions differ from old ones. */
import * as v from 'valibot'
import { fraction, nonEmptyText } from '../../sdk/schema/decision.ts'
import { DriftReport } from '../../sdk/schema/drift.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { driftHistory, driftOf } from '../domain/learn/calibration/drift-periods.ts'
import { given } from '../domain/record/decision/lookup.ts'

const d = v.description

export const checkDrift = defineMethod({
  summary:
    'Tests whether results fell behind what earlier decisions predict, and compares the last 30 days with decisions at least 90 days old.',
  params: v.object({
    category: v.optional(v.pipe(nonEmptyText(256), d('Only this category.'))),
    project: v.optional(v.pipe(nonEmptyText(256), d('Project name.'))),
    agent: v.optional(v.pipe(nonEmptyText(256), d('Agent that recorded the decisions.'))),
    brier_threshold: v.pipe(v.optional(fraction, 0.05), d('Increase of the Brier score that triggers an alert.')),
    accuracy_threshold: v.pipe(v.optional(fraction, 0.1), d('Decrease of the accuracy that triggers an alert.')),
    history_points: v.pipe(
      v.optional(whole(0, 52), 0),
      d('Number of points in `history`: the same comparison at weekly intervals, the last one now.'),
    ),
  }),
  result: DriftReport,
  scope: 'read',
  effect: 'read',
  cost: 64,
  async handle({ store, now, yieldToEventLoop }, { brier_threshold, accuracy_threshold, history_points, ...rest }) {
    const thresholds = { brier: brier_threshold, accuracy: accuracy_threshold }
    const [filter, now_ms] = [given(rest), now()]
    return {
      ...(await driftOf(store, filter, now_ms, thresholds)),
      history: await driftHistory({ store, yieldToEventLoop }, filter, now_ms, history_points),
    }
  },
})
