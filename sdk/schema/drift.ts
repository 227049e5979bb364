/** Result of checkDrift: whether results fell behind what the past predicts, and how two periods compare. */
import * as v from 'valibot'
import { Verdict } from './calibration.ts'
import { fraction } from './decision.ts'

const d = v.description

/** A figure of two periods. */
export const FigureChange = v.object({
  recent: v.pipe(v.number(), d('Value in the recent period.')),
  historical: v.pipe(v.number(), d('Value in the historical period.')),
  change: v.pipe(v.number(), d('Recent minus historical value.')),
  p_value: v.pipe(
    fraction,
    d(
      'Probability of such a deterioration by chance alone, at least 0.0001; given at each point, with or without an alert.',
    ),
  ),
})
const change = (about: string) =>
  v.pipe(v.nullable(FigureChange), d(`${about} of both periods; null if either has fewer than five scored decisions.`))

/** Findings of a comparison of the two periods. */
export const DriftFinding = v.object({
  drift_detected: v.pipe(
    v.boolean(),
    d('True if the sequential test found that results fell, until they recover, confidence follows, or closeDrift.'),
  ),
  recent_scored: v.pipe(v.number(), d('Scored decisions in the recent period.')),
  historical_scored: v.pipe(v.number(), d('Scored decisions in the historical period.')),
  brier_score: change('Brier score'),
  accuracy: change('Accuracy'),
})
export type DriftFinding = v.InferOutput<typeof DriftFinding>

/** What checkDrift would have found at one instant, with the reviews that were known then. */
export const DriftPoint = v.object({
  at: v.pipe(v.string(), d('The time, RFC 3339, UTC; both periods are counted back from it.')),
  ...DriftFinding.entries,
})
export type DriftPoint = v.InferOutput<typeof DriftPoint>

const side = (about: string) =>
  v.pipe(
    v.object({
      scored: v.pipe(v.number(), d('Scored decisions.')),
      mean_confidence: v.pipe(fraction, d('Mean stated confidence.')),
      accuracy: v.pipe(fraction, d('Mean result.')),
      calibration_gap: v.pipe(v.number(), d('Accuracy minus mean confidence; below 0 is overconfident.')),
      brier_score: v.pipe(v.number(), d('Brier score.')),
    }),
    d(about),
  )

/** Current calibration compared with that of an earlier period. */
export const DriftReport = v.object({
  drift_detected: v.pipe(v.boolean(), d('True if an alert is above `info`.')),
  change: v.pipe(
    v.nullable(
      v.object({
        since: v.pipe(v.string(), d('First day of the change, UTC.')),
        found: v.pipe(v.string(), d('Day on which the evidence sufficed.')),
        before: side('What came before; what the change is measured against.'),
        after: side('What came since.'),
      }),
    ),
    d('The fall that was found and is not over; null if there is none. Decisions count from the day of their review.'),
  ),
  verdict: v.pipe(Verdict, d('The verdict of getCalibration on the same decisions.')),
  alerts: v.pipe(
    v.array(
      v.object({
        type: v.picklist(['brier_degradation', 'accuracy_drop']),
        recent_value: v.pipe(v.number(), d('Value since the change; of an `info` alert, in the recent period.')),
        historical_value: v.pipe(
          v.number(),
          d('Value before the change; of an `info` alert, in the historical period.'),
        ),
        change_pct: v.pipe(v.nullable(v.number()), d('Change in per cent; null if the historical value is 0.')),
        p_value: v.pipe(fraction, d('Probability of such evidence by chance alone, at least 0.0001.')),
        severity: v.pipe(
          v.picklist(['info', 'warning', 'critical']),
          d('`info` if only the two periods differ, which chance may explain; `critical` from twice the threshold.'),
        ),
      }),
    ),
    d('What got worse.'),
  ),
  recent_period: v.pipe(v.string(), d('The recent period.')),
  historical_period: v.pipe(v.string(), d('The historical period.')),
  recent_scored: v.pipe(v.number(), d('Scored decisions in the recent period.')),
  historical_scored: v.pipe(v.number(), d('Scored decisions in the historical period.')),
  recommendations: v.pipe(v.array(v.string()), d('What to do.')),
  by_reviewer: v.pipe(
    v.object({
      self: v.pipe(DriftFinding, d('Reviewed by the agent that recorded the decision.')),
      others: v.pipe(DriftFinding, d('Reviewed by another agent.')),
      observed: v.pipe(DriftFinding, d('Outcome from evidence.')),
    }),
    d('The same comparison by who determined the outcomes.'),
  ),
  history: v.pipe(
    v.array(DriftPoint),
    d(
      'The comparison at earlier times, oldest first; empty unless history_points was given. A decision with several reviews counts from the review that determines its outcome.',
    ),
  ),
})
export type DriftReport = v.InferOutput<typeof DriftReport>
