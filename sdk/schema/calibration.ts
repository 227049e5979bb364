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
      'The worst that is proven; `well_calibrated` if nothing is and the gap of all is within 0.05 (single ranges of confidence are in the recommendations), `insufficient_data` if chance alone may explain a larger one.',
    ),
  ),
  proven_by: v.pipe(
    v.nullable(
      v.object({
        by: v.pipe(
          v.picklist(['agent', 'category', 'stakes', 'agent_category', 'agent_stakes', 'category_stakes']),
          d('What the part is of; with two names, of both.'),
        ),
        key: v.pipe(v.string(), d('Its value, such as the name of the agent; two are joined by ` / `.')),
        n: v.pipe(v.number(), d('Scored decisions in it.')),
        gap: v.pipe(v.number(), d('Accuracy less mean confidence; below 0 is overconfident.')),
        low: v.pipe(v.number(), d('Lower end of the interval of the gap: 95 % for all parts together.')),
        high: v.pipe(v.number(), d('Upper end of it.')),
      }),
    ),
    d('The part that is proven to be worse than all decisions together; null if none is.'),
  ),
})
export type Verdict = v.InferOutput<typeof Verdict>

/** Scores of stated confidence; null with fewer than five scored decisions. */
export const OverallFigures = v.object({
  brier_score: figure('Mean squared distance of confidence and result; 0 is best.'),
  accuracy: figure('Mean result: 1 for success, 0.5 for partial, 0 for failure.'),
  mean_confidence: figure('Mean confidence of the same decisions.'),
  calibration_gap: figure('Accuracy less mean confidence; below 0 is overconfident.'),
  gap_low: figure('Lower end of the 95 % interval of the gap.'),
  gap_high: figure('Upper end of it.'),
  interpretation: v.pipe(Interpretation, d('What the gap means.')),
  scored: v.pipe(v.number(), d('Decisions behind the figures.')),
  ece: figure('Expected calibration error over the five buckets.'),
  ece_noise_floor: figure('The error that a perfectly calibrated agent would show by chance with these confidences.'),
  reliability: figure('Murphy: how far confidences lie from results; 0 is best.'),
  resolution: figure('Murphy: how well confidences tell successes from failures; higher is better.'),
  uncertainty: figure('Murphy: variance of the results.'),
  log_score: figure('Mean negative log likelihood; 0 is best.'),
  skill: figure('Brier skill against always stating the base rate; above 0 is better than that.'),
})
export type OverallFigures = v.InferOutput<typeof OverallFigures>

/** Scored decisions of one agent, category or stakes, or of two of them; null stands for all values. */
export const CalibrationCell = v.object({
  agent: v.pipe(v.nullable(v.string()), d('Agent that recorded them.')),
  category: v.pipe(v.nullable(v.string()), d('Their category.')),
  stakes: v.pipe(v.nullable(Stakes), d('Their stakes.')),
  scored: v.pipe(v.number(), d('Scored decisions; listDecisions finds them with `scored`.')),
  mean_confidence: v.pipe(fraction, d('What was said: the mean confidence.')),
  accuracy: v.pipe(fraction, d('What came true: the mean result.')),
  accuracy_low: figure('Lower end of its 95 % interval; null with fewer than five.'),
  accuracy_high: figure('Upper end of it.'),
  calibration_gap: v.pipe(v.number(), d('Accuracy less mean confidence; below 0 is overconfident.')),
  proven: v.pipe(
    v.nullable(
      v.object({
        interpretation: Interpretation,
        low: v.pipe(v.number(), d('Lower end of the interval of the gap: 95 % for all parts together.')),
        high: v.pipe(v.number(), d('Upper end of it.')),
      }),
    ),
    d('What the gap means, if it is proven as the verdict proves it; null if chance explains it.'),
  ),
  trend: v.pipe(
    v.nullable(
      v.object({
        direction: v.pipe(
          v.picklist(['improving', 'worsening', 'steady']),
          d('Whether the gap became smaller or larger; `steady` if the 95 % interval of its change holds 0.'),
        ),
        recent_scored: v.pipe(v.number(), d('Scored decisions of the last 90 days.')),
        recent_gap: v.pipe(v.number(), d('Their gap.')),
        earlier_scored: v.pipe(v.number(), d('Scored decisions before.')),
        earlier_gap: v.pipe(v.number(), d('Their gap.')),
      }),
    ),
    d('The last 90 days against all before, whatever the window; null with fewer than five in either.'),
  ),
})
export type CalibrationCell = v.InferOutput<typeof CalibrationCell>

/** What stated confidence is worth: scores, five ranges, use of the scale, advice. */
export const CalibrationReport = v.object({
  total_decisions: v.pipe(v.number(), d('Decisions that pass the filters.')),
  reviewed_decisions: v.pipe(v.number(), d('Those that were reviewed, abandoned ones too.')),
  verdict: v.pipe(Verdict, d('What the figures prove: the headline.')),
  overall: v.pipe(
    OverallFigures,
    d('The figures over all of them; the interpretation is that of their gap, proven or not.'),
  ),
  buckets: v.pipe(
    v.array(
      v.object({
        range: v.pipe(v.string(), d('Confidences from the first to below the second; the last includes 1.')),
        decisions: v.pipe(v.number(), d('Scored decisions in it.')),
        predicted: figure('Mean confidence.'),
        actual: figure('Mean result.'),
        brier: figure('Brier score.'),
        actual_low: figure('Lower end of the 95 % Wilson interval of the result.'),
        actual_high: figure('Upper end of it.'),
      }),
    ),
    d('Always five.'),
  ),
  confidence_stats: v.pipe(
    v.object({
      mean: figure('Mean confidence of all decisions, scored or not.'),
      std_dev: figure('Population standard deviation.'),
      min: figure('Lowest.'),
      max: figure('Highest.'),
      habituation_detected: v.pipe(v.boolean(), d('True when the confidence hardly varies.')),
      histogram: v.pipe(v.array(v.number()), d('Decisions by tenth of confidence.')),
    }),
    d('Spread of stated confidence.'),
  ),
  recommendations: v.pipe(
    v.array(
      v.object({
        type: v.string(),
        message: v.string(),
        severity: v.pipe(v.picklist(['info', 'warning', 'critical']), d('How urgent it is.')),
      }),
    ),
    d('What to do, most urgent first.'),
  ),
  by_settlement: v.pipe(
    v.object({
      observed: v.pipe(OverallFigures, d('Settled by evidence of pull requests.')),
      attested: v.pipe(OverallFigures, d('Said in a review.')),
    }),
    d('The same figures by what settled the outcome; never blended.'),
  ),
  by_reviewer: v.pipe(
    v.object({
      self: v.pipe(OverallFigures, d('Reviewed by the recorder itself.')),
      others: v.pipe(OverallFigures, d('Reviewed by another agent.')),
      observed: v.pipe(OverallFigures, d('Settled by evidence.')),
    }),
    d('The same figures by who settled the outcome.'),
  ),
  cells: v.pipe(
    v.array(CalibrationCell),
    d('With `cells`: each cell, each row, each column and all together, those with most decisions first; else empty.'),
  ),
})
export type CalibrationReport = v.InferOutput<typeof CalibrationReport>

/** A figure of two periods. */
export const FigureChange = v.object({
  recent: v.pipe(v.number(), d('Of the recent period.')),
  historical: v.pipe(v.number(), d('Of the historical one.')),
  change: v.pipe(v.number(), d('Recent less historical.')),
  p_value: v.pipe(fraction, d('How often chance alone shows it so much worse; given at each point, alert or not.')),
})
const change = (about: string) =>
  v.pipe(
    v.nullable(FigureChange),
    d(`${about} of both periods; null where either has fewer than five scored decisions.`),
  )

/** Findings of a comparison of the two periods. */
export const DriftFinding = v.object({
  drift_detected: v.pipe(v.boolean(), d('True if a threshold was passed by more than chance explains.')),
  recent_scored: v.pipe(v.number(), d('Scored decisions in the recent period.')),
  historical_scored: v.pipe(v.number(), d('Scored decisions in the historical one.')),
  brier_score: change('Brier score'),
  accuracy: change('Accuracy'),
})
export type DriftFinding = v.InferOutput<typeof DriftFinding>

/** What checkDrift would have found at one instant, with the reviews that were known then. */
export const DriftPoint = v.object({
  at: v.pipe(v.string(), d('The instant, RFC 3339, UTC; both periods are counted from it.')),
  ...DriftFinding.entries,
})
export type DriftPoint = v.InferOutput<typeof DriftPoint>

/** Current calibration compared with that of an earlier period. */
export const DriftReport = v.object({
  drift_detected: v.pipe(v.boolean(), d('True if an alert is above `info`.')),
  verdict: v.pipe(Verdict, d('What is proven of the confidence of the recent period.')),
  alerts: v.pipe(
    v.array(
      v.object({
        type: v.picklist(['brier_degradation', 'accuracy_drop']),
        recent_value: v.pipe(v.number(), d('Figure of the recent period.')),
        historical_value: v.pipe(v.number(), d('Figure of the historical one.')),
        change_pct: v.pipe(v.nullable(v.number()), d('Change in per cent; null from 0.')),
        p_value: v.pipe(fraction, d('How often chance alone shows as much.')),
        severity: v.pipe(
          v.picklist(['info', 'warning', 'critical']),
          d('`info` if chance may explain it: p above .025, or .05 if the other figure is at .05 too.'),
        ),
      }),
    ),
    d('What got worse.'),
  ),
  recent_period: v.pipe(v.string(), d('The days compared.')),
  historical_period: v.pipe(v.string(), d('The days compared with.')),
  recent_scored: v.pipe(v.number(), d('Scored decisions in the recent period.')),
  historical_scored: v.pipe(v.number(), d('Scored decisions in the historical one.')),
  recommendations: v.pipe(v.array(v.string()), d('What to do.')),
  by_reviewer: v.pipe(
    v.object({
      self: v.pipe(DriftFinding, d('Reviewed by the recorder itself.')),
      others: v.pipe(DriftFinding, d('Reviewed by another agent.')),
      observed: v.pipe(DriftFinding, d('Settled by evidence.')),
    }),
    d('The same comparison by who settled the outcomes.'),
  ),
  history: v.pipe(
    v.array(DriftPoint),
    d(
      'Oldest first; empty unless history_points was given. A decision that was reviewed again counts from the review on that gives its outcome.',
    ),
  ),
})
export type DriftReport = v.InferOutput<typeof DriftReport>
