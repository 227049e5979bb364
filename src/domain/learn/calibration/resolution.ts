/**
 * Resolution: whether stated confidence separates successes from failures. Murphy's decomposition measures it; chance alone gives a figure
 * above 0 and a calibrated agent that is always about as sure has a low one, so two tests decide what it means.
 *
 * The first asks whether results rise with confidence at all (Cochran and Armitage's test for a trend). The second asks whether they rise by
 * as much as the confidences claim (the slope of Cox's calibration, after the gap is taken away). Confidences are meaningless only if the
 * second refutes them and the first doesn't save them: honest confidences are close together if the cases are alike.
 * @see Murphy, "A new vector partition of the probability score", Journal of Applied Meteorology 12 (1973)
 * @see Armitage, "Tests for linear trends in proportions and frequencies", Biometrics 11 (1955)
 * @see Cox, "Two further applications of a model for binary regression", Biometrika 45 (1958)
 */
import { countOf, meanOf, type Scored } from '../../../core/figures.ts'
import { upperTail } from './permutation.ts'

export interface Resolution {
  /** `none` if results contradict the separation that the confidences claim, `open` if there are too few to tell. */
  finding: 'shown' | 'none' | 'open'
  /** Probability of a trend at least as strong if confidence had nothing to do with results. */
  p_value: number
  /** The claimed separation is large enough to be seen in this number of decisions. */
  testable: boolean
}

/** In standard deviations: one-sided 1 % for a trend; more to call confidences meaningless, since that is shown all the time. */
const critical = 2.33
const refuting = 2.6
/** With fewer decisions nothing is said. */
const fewest = 20
const spread = (probability: number): number => {
  const within = Math.min(0.98, Math.max(0.02, probability))
  return within * (1 - within)
}

/** What the results say about the confidences; null if all of either are the same, or there are fewer than 20. */
export function resolutionOf(groups: readonly Scored[]): Resolution | null {
  if (countOf(groups) < fewest) return null
  const sum = (of: (group: Scored) => number) => groups.reduce((total, group) => total + group.count * of(group), 0)
  const [stated, result] = [meanOf(groups, ({ confidence }) => confidence), meanOf(groups, ({ value }) => value)]
  const squares = sum(({ confidence }) => (confidence - stated) ** 2)
  const variance = meanOf(groups, ({ value }) => (value - result) ** 2)
  if (squares < 1e-9 || variance < 1e-9) return null
  const trend = sum(({ confidence, value }) => (confidence - stated) * (value - result))
  const gap = result - stated
  const expected = sum(({ confidence }) => (confidence - stated) ** 2 * spread(confidence + gap))
  const shown = trend / Math.sqrt(squares * variance)
  const claimed = squares / Math.sqrt(expected)
  const missing = (trend - squares) / Math.sqrt(expected)
  const isShown = shown >= critical
  const finding = isShown ? 'shown' : missing <= -refuting ? 'none' : 'open'
  return { finding, p_value: upperTail(shown), testable: claimed >= critical }
}
