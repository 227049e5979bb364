/** Results of the calibration methods. Scores are over reviewed decisions that were not abandoned; null for fewer than five. */
import * as v from 'valibot'
import { fraction, Stakes } from './decision.ts'

const d = v.description
const figure = (about: string) => v.pipe(v.nullable(v.number()), d(about))

/** A calibration gap in words. */
export const Interpretation = v.picklist([
  'well_calibrated',
  'slightly_overconfident',
  'overconfident',
  'slightly_underconfident',
  'underconfident',
  'insufficient_data',
])
export type Interpretation = v.InferOutput<typeof Interpretation>

/** What is proven of the confidence of some decisions: of all of them, or of the part that is worst. */
export const Verdict = v.object({
  interpretation: v.pipe(
    Interpretation,
    d(
      'The worst proven finding. If nothing is proven: `well_calibrated` if the gap of all decisions is within 0.05 (the recommendations cover single ranges of confidence), `insufficient_data` if chance alone may explain a larger gap.',
    ),
  ),
  proven_by: v.pipe(
    v.nullable(
      v.object({
        by: v.pipe(
          v.picklist(['agent', 'category', 'stakes', 'agent_category', 'agent_stakes', 'category_stakes']),
          d('Field that defines the part, or two fields.'),
        ),
        key: v.pipe(
          v.string(),
          d('Value of the field, such as the name of the agent; two values are joined by ` / `.'),
        ),
        n: v.pipe(v.number(), d('Scored decisions of the part.')),
        gap: v.pipe(v.number(), d('Accuracy minus mean confidence; below 0 is overconfident.')),
        low: v.pipe(v.number(), d('Lower bound of the interval of the gap: 95 % for all parts together.')),
        high: v.pipe(v.number(), d('Upper bound of the interval.')),
      }),
    ),
    d('The part that is proven to be worse than all decisions together; null if there is none.'),
  ),
})
export type Verdict = v.InferOutput<typeof Verdict>

/** Scores of stated confidence; null with fewer than five scored decisions. */
export const OverallFigures = v.object({
  brier_score: figure('Mean squared difference between confidence and result; 0 is best.'),
  accuracy: figure('Mean result: 1 for success, 0.5 for partial, 0 for failure.'),
  mean_confidence: figure('Mean confidence of the same decisions.'),
  calibration_gap: figure('Accuracy minus mean confidence; below 0 is overconfident.'),
  gap_low: figure('Lower bound of the 95 % interval of the gap.'),
  gap_high: figure('Upper bound of the interval.'),
  interpretation: v.pipe(Interpretation, d('Meaning of the gap.')),
  scored: v.pipe(v.number(), d('Number of decisions in the figures.')),
  ece: figure('Expected calibration error over the five buckets.'),
  ece_noise_floor: figure('Error that a perfectly calibrated agent would have by chance with these confidences.'),
  reliability: figure('Murphy decomposition, reliability: distance of confidences from results; 0 is best.'),
  resolution: figure(
    'Murphy decomposition, resolution: how well confidences separate successes from failures; higher is better.',
  ),
  uncertainty: figure('Murphy decomposition, uncertainty: variance of the results.'),
  log_score: figure('Mean negative log likelihood; 0 is best.'),
  skill: figure('Brier skill score relative to always stating the base rate; above 0 is better.'),
})
export type OverallFigures = v.InferOutput<typeof OverallFigures>

/** Scored decisions of one agent, category or stakes, or of two of them; null stands for all values. */
export const CalibrationCell = v.object({
  agent: v.pipe(v.nullable(v.string()), d('Agent that recorded them.')),
  category: v.pipe(v.nullable(v.string()), d('Category of the decisions.')),
  stakes: v.pipe(v.nullable(Stakes), d('Stakes of the decisions.')),
  scored: v.pipe(v.number(), d('Scored decisions; listDecisions finds them with `scored`.')),
  mean_confidence: v.pipe(fraction, d('Mean stated confidence.')),
  accuracy: v.pipe(fraction, d('Mean result.')),
  accuracy_low: figure('Lower bound of its 95 % interval; null with fewer than five decisions.'),
  accuracy_high: figure('Upper bound of the interval.'),
  calibration_gap: v.pipe(v.number(), d('Accuracy minus mean confidence; below 0 is overconfident.')),
  proven: v.pipe(
    v.nullable(
      v.object({
        interpretation: Interpretation,
        low: v.pipe(v.number(), d('Lower bound of the interval of the gap: 95 % for all parts together.')),
        high: v.pipe(v.number(), d('Upper bound of the interval.')),
      }),
    ),
    d('Meaning of the gap, if it is proven by the criterion of the verdict; null if chance explains it.'),
  ),
  trend: v.pipe(
    v.nullable(
      v.object({
        direction: v.pipe(
          v.picklist(['improving', 'worsening', 'steady']),
          d(
            '`worsening` if confidence came to promise more than it keeps, or too little by more than before; `improving` if a gap became smaller otherwise; `steady` if the 95 % interval of the change contains 0.',
          ),
        ),
        recent_scored: v.pipe(v.number(), d('Scored decisions of the last 90 days.')),
        recent_gap: v.pipe(v.number(), d('Gap of these decisions: result less confidence, below 0 if overconfident.')),
        earlier_scored: v.pipe(v.number(), d('Earlier scored decisions.')),
        earlier_gap: v.pipe(v.number(), d('Gap of these decisions.')),
      }),
    ),
    d(
      'The last 90 days compared with all earlier decisions, regardless of the window; null with fewer than five in either period.',
    ),
  ),
})
export type CalibrationCell = v.InferOutput<typeof CalibrationCell>

/** What stated confidence is worth: scores, five ranges, use of the scale, advice. */
export const CalibrationReport = v.object({
  total_decisions: v.pipe(v.number(), d('Decisions that match the filters.')),
  reviewed_decisions: v.pipe(v.number(), d('Those that were reviewed, including abandoned ones.')),
  verdict: v.pipe(Verdict, d('Summary of what the figures prove.')),
  overall: v.pipe(
    OverallFigures,
    d('The figures of all matching decisions; `interpretation` describes their gap, whether proven or not.'),
  ),
  buckets: v.pipe(
    v.array(
      v.object({
        range: v.pipe(
          v.string(),
          d('Range of confidence: lower bound included, upper bound excluded; the last range includes 1.'),
        ),
        decisions: v.pipe(v.number(), d('Scored decisions in the range.')),
        predicted: figure('Mean confidence.'),
        actual: figure('Mean result.'),
        brier: figure('Brier score.'),
        actual_low: figure('Lower bound of the 95 % Wilson interval of the mean result.'),
        actual_high: figure('Upper bound of the interval.'),
      }),
    ),
    d('Always five ranges.'),
  ),
  confidence_stats: v.pipe(
    v.object({
      mean: figure('Mean confidence of all decisions, scored or not.'),
      std_dev: figure('Population standard deviation.'),
      min: figure('Lowest confidence.'),
      max: figure('Highest confidence.'),
      habituation_detected: v.pipe(v.boolean(), d('True if the confidence hardly varies.')),
      histogram: v.pipe(v.array(v.number()), d('Decisions by range of confidence, each 0.1 wide.')),
    }),
    d('Distribution of stated confidence.'),
  ),
  recommendations: v.pipe(
    v.array(
      v.object({
        type: v.string(),
        message: v.string(),
        severity: v.pipe(v.picklist(['info', 'warning', 'critical']), d('Urgency.')),
      }),
    ),
    d('Recommendations, most urgent first.'),
  ),
  by_settlement: v.pipe(
    v.object({
      observed: v.pipe(OverallFigures, d('Outcomes from pull request evidence.')),
      attested: v.pipe(OverallFigures, d('Outcomes from reviews.')),
    }),
    d('The same figures by source of outcome; the sources are never combined.'),
  ),
  by_reviewer: v.pipe(
    v.object({
      self: v.pipe(OverallFigures, d('Reviewed by the agent that recorded the decision.')),
      others: v.pipe(OverallFigures, d('Reviewed by another agent.')),
      observed: v.pipe(OverallFigures, d('Outcome from evidence.')),
    }),
    d('The same figures by who determined the outcome.'),
  ),
  cells: v.pipe(
    v.array(CalibrationCell),
    d('With `cells`: each cell, each row, each column and the total, most decisions first; otherwise empty.'),
  ),
})
export type CalibrationReport = v.InferOutput<typeof CalibrationReport>

/** A figure of two periods. */
export const FigureChange = v.object({
  recent: v.pipe(v.number(), d('Value in the recent period.')),
  historical: v.pipe(v.number(), d('Value in the historical period.')),
  change: v.pipe(v.number(), d('Recent minus historical value.')),
  p_value: v.pipe(
    fraction,
    d('Probability of such a deterioration by chance alone; given at each point, with or without an alert.'),
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
  verdict: v.pipe(Verdict, d('Proven calibration in the recent period.')),
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
        p_value: v.pipe(fraction, d('Probability of such evidence by chance alone.')),
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
