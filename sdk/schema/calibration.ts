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

/** What a verdict can say: of a gap, or that confidences do not separate successes from failures. */
export const VerdictInterpretation = v.picklist([...Interpretation.options, 'uninformative'])
export type VerdictInterpretation = v.InferOutput<typeof VerdictInterpretation>

/** Stated confidence and result of the decisions of a period. */
export const CalibrationSide = v.object({
  scored: v.pipe(v.number(), d('Scored decisions.')),
  mean_confidence: v.pipe(fraction, d('Mean stated confidence.')),
  accuracy: v.pipe(fraction, d('Mean result.')),
  calibration_gap: v.pipe(v.number(), d('Accuracy minus mean confidence; below 0 is overconfident.')),
  gap_low: figure('Lower bound of the 95 % interval of the gap; null with fewer than five decisions.'),
  gap_high: figure('Upper bound of the interval.'),
})
export type CalibrationSide = v.InferOutput<typeof CalibrationSide>

const sides = {
  recent: v.pipe(v.nullable(CalibrationSide), d('Decisions of the last 30 days; null without any.')),
  before: v.pipe(v.nullable(CalibrationSide), d('Earlier decisions; null without any.')),
  harm: v.pipe(
    v.number(),
    d(
      'Expected harm now: the recent gap towards overconfidence × the number of recent decisions, each weighted by its stakes (1, 2, 4 or 8); 0 without recent decisions.',
    ),
  ),
}

const provenBy = v.picklist(['agent', 'category', 'stakes', 'agent_category', 'agent_stakes', 'category_stakes'])

/** What is proven of the confidence of some decisions: of all of them, or of the part from which most harm is to be expected. */
export const Verdict = v.object({
  interpretation: v.pipe(
    VerdictInterpretation,
    d(
      'The worst proven finding. If no gap is proven: `uninformative` if results contradict that higher confidence means more successes; `well_calibrated` if the gap of all decisions is within 0.05 and confidence separates successes from failures as far as it claims to (the recommendations cover single ranges of confidence); else `insufficient_data`.',
    ),
  ),
  proven_by: v.pipe(
    v.nullable(
      v.object({
        by: v.pipe(provenBy, d('Field that defines the part, or two fields.')),
        key: v.pipe(
          v.string(),
          d('Value of the field, such as the name of the agent; two values are joined by ` / `.'),
        ),
        period: v.pipe(
          v.picklist(['recent', 'all']),
          d('The decisions that prove it: those of the last 30 days, or all.'),
        ),
        n: v.pipe(v.number(), d('Scored decisions of the part in that period.')),
        gap: v.pipe(v.number(), d('Accuracy minus mean confidence; below 0 is overconfident.')),
        low: v.pipe(v.number(), d('Lower bound of the interval of the gap: 95 % for all parts together.')),
        high: v.pipe(v.number(), d('Upper bound of the interval.')),
      }),
    ),
    d('The part that is proven to be worse than all decisions together; null if there is none.'),
  ),
  subject: v.pipe(
    v.nullable(
      v.object({
        by: v.pipe(provenBy, d('Field that defines the part, or two fields.')),
        key: v.pipe(v.string(), d('Value of the field; two values are joined by ` / `.')),
      }),
    ),
    d(
      'The headline, which `recent`, `before` and `harm` describe: the part from which most harm is to be expected. It is proven to be off, or an agent to watch that is overconfident in the last 30 days by a single look; null for all decisions.',
    ),
  ),
  ...sides,
  resolution: v.pipe(
    v.nullable(
      v.object({
        finding: v.pipe(
          v.picklist(['shown', 'none', 'open']),
          d(
            '`shown` if successes rise with confidence; `none` if results contradict the differences that the confidences claim; `open` if there are too few decisions to tell.',
          ),
        ),
        p_value: v.pipe(
          fraction,
          d('Probability of such a resolution if confidence had nothing to do with results, at least 0.0001.'),
        ),
      }),
    ),
    d('Test of the resolution of all decisions; null with fewer than 20, or if confidence or results never differ.'),
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
  scored: v.pipe(
    v.number(),
    d(
      'Number of decisions in the figures. Those of one agent that the evidence of one pull request settled count as one together, here and in every figure.',
    ),
  ),
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
        period: v.pipe(
          v.picklist(['recent', 'all']),
          d('The decisions that prove it: those of the last 30 days, or all.'),
        ),
        low: v.pipe(v.number(), d('Lower bound of the interval of the gap: 95 % for all parts together.')),
        high: v.pipe(v.number(), d('Upper bound of the interval.')),
      }),
    ),
    d('Meaning of the gap, if it is proven by the criterion of the verdict; null if chance explains it.'),
  ),
  ...sides,
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

/** The last weeks of an agent: how often its decisions came true, and when one last failed. */
export const AgentWeeks = v.object({
  agent: v.string(),
  weeks: v.pipe(
    v.array(v.nullable(fraction)),
    d('Mean result in each of the last twelve weeks by day of the decision, oldest first; null without a scored one.'),
  ),
  last_failure: v.pipe(v.nullable(v.string()), d('Day of the newest decision of these weeks that failed.')),
})
export type AgentWeeks = v.InferOutput<typeof AgentWeeks>

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
      habituation_detected: v.pipe(
        v.boolean(),
        d(
          'True if results contradict that higher confidence means more successes, or if the confidence is always the same and results do not bear it out.',
        ),
      ),
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
  agents: v.pipe(
    v.optional(v.array(AgentWeeks)),
    d('With `cells` by agent: the last weeks of each, regardless of the window.'),
  ),
})
export type CalibrationReport = v.InferOutput<typeof CalibrationReport>
