/**
 * Which of many due reviews tell most about how reliable agents are. The success rate of each agent at each stakes is known up to a standard
 * error, which a further review makes smaller: least where many are known, and most where much is at stake and decided often.
 */

const weights = { low: 1, medium: 2, high: 4, critical: 8 } as const

/** The due reviews of one agent at one stakes, and what is known of its outcomes there. */
export interface Stratum {
  stakes: keyof typeof weights
  /** Due reviews. */
  due: number
  /** Scored decisions, and the sum of their outcomes. */
  scored: number
  value: number
}

/** The standard error of the success rate after so many more reviews, by Laplace's rule of succession, times what depends on it. */
function uncertainty({ stakes, due, scored, value }: Stratum, more: number): number {
  const rate = (value + 1) / (scored + 2)
  return weights[stakes] * due * Math.sqrt((rate * (1 - rate)) / (scored + more + 3))
}

export interface Sample {
  /** Reviews to make of each stratum, in the order of the strata. */
  picks: number[]
  /** What they tell as a share of what all due reviews would tell; 1 without any. */
  share: number
}

/** Each further review of a stratum tells less than the one before, so choosing the best one each time is the best choice of all. */
export function sampleOf(strata: readonly Stratum[], most: number): Sample {
  const picks = strata.map(() => 0)
  const gain = (at: number): number =>
    picks[at]! >= strata[at]!.due ? 0 : uncertainty(strata[at]!, picks[at]!) - uncertainty(strata[at]!, picks[at]! + 1)
  for (let left = most; left > 0; left--) {
    const gains = strata.map((_, at) => gain(at))
    const best = gains.indexOf(Math.max(...gains))
    if (best < 0 || gains[best] === 0) break
    picks[best]!++
  }
  const told = (to: readonly number[]): number =>
    strata.reduce((sum, one, at) => sum + uncertainty(one, 0) - uncertainty(one, to[at]!), 0)
  const all = told(strata.map(({ due }) => due))
  return { picks, share: all === 0 ? 1 : told(picks) / all }
}
