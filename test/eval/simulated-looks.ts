/** One simulated agent that is looked at after every decision: how often intervals and the test of resolution are right about it. */
import { wilson } from '../../src/core/figures.ts'
import { anytimeInterval } from '../../src/domain/learn/calibration/anytime.ts'
import { exactInterval, type Interval } from '../../src/domain/learn/calibration/interval.ts'
import { report } from '../../src/domain/learn/calibration/report.ts'
import { resolutionOf } from '../../src/domain/learn/calibration/resolution.ts'
import { seeded } from './figures.ts'

/** Sum of the results, their number, mean confidence, and the variance of the sum if the confidences are right. */
interface Look {
  hits: number
  of: number
  stated: number
  variance: number
}

const misses =
  (interval: (hits: number, of: number) => Interval) =>
  ({ hits, of, stated }: Look): boolean => {
    const { low, high } = interval(hits, of)
    return low > stated || high < stated
  }

/** Whether each kind of interval, at 95 %, calls the agent off. */
export const intervals: Record<string, (look: Look) => boolean> = {
  'exact (Clopper and Pearson)': misses((hits, of) => exactInterval(hits, of, 0.05)),
  'score (Wilson)': misses((hits, of) => wilson(hits, of)!),
  "Spiegelhalter's z": ({ hits, of, stated, variance }) => Math.abs(hits - of * stated) > 1.96 * Math.sqrt(variance),
  'for continuous looking': misses((hits, of) => anytimeInterval(hits, of, 0.05)),
}

export const sizes = [20, 50, 100, 200] as const
const year = 180
const fewest = 5

/** Share of histories in which an agent that states `over` too much is called off, with so many decisions. */
export function calledOff(name: string, histories: number, over: number): number[] {
  const isOff = intervals[name]!
  return sizes.map((size) => share(histories, (seed) => isOff(looksAt(seed, over, size).at(-1)!)))
}

/** Share of histories in which a calibrated agent is called off at least once in 180 daily looks, at one decision a day. */
export const everCalledOff = (name: string, histories: number): number =>
  share(histories, (seed) =>
    looksAt(seed, 0, year)
      .slice(fewest - 1)
      .some(intervals[name]!),
  )

const share = (histories: number, found: (seed: number) => boolean): number => {
  let count = 0
  for (let seed = 1; seed <= histories; seed++) if (found(seed)) count++
  return count / histories
}

function looksAt(seed: number, over: number, size: number): Look[] {
  const next = seeded(seed)
  let [hits, sum, variance] = [0, 0, 0]
  return Array.from({ length: size }, (_, at) => {
    const confidence = 0.65 + 0.3 * next()
    sum += confidence
    variance += confidence * (1 - confidence)
    if (next() < confidence - over) hits++
    return { hits, of: at + 1, stated: sum / (at + 1), variance }
  })
}

type Stated = (next: () => number) => { confidence: number; truth: number }
const honest =
  (low: number, high: number): Stated =>
  (next) => {
    const confidence = low + (high - low) * next()
    return { confidence, truth: confidence }
  }
const random =
  (low: number, high: number): Stated =>
  (next) => ({ confidence: low + (high - low) * next(), truth: (low + high) / 2 })

/** Ways of stating confidence; the honest ones are right as often as stated, in the others results have nothing to do with it. */
export const habits: Record<string, { stated: Stated; honest: boolean }> = {
  'honest, .5 to .99': { stated: honest(0.5, 0.99), honest: true },
  'honest, .76 to .99': { stated: honest(0.76, 0.99), honest: true },
  'honest, always about .9': { stated: honest(0.88, 0.92), honest: true },
  'random, .5 to .99': { stated: random(0.5, 0.99), honest: false },
  'random, .05 to .95': { stated: random(0.05, 0.95), honest: false },
  'random, .76 to .99': { stated: random(0.76, 0.99), honest: false },
  '.9 and .6, both true in 75 %': {
    stated: (next) => ({ confidence: next() < 0.5 ? 0.9 : 0.6, truth: 0.75 }),
    honest: false,
  },
}

function historyOf(stated: Stated, seed: number, size: number) {
  const next = seeded(seed)
  return Array.from({ length: size }, () => {
    const { confidence, truth } = stated(next)
    return { confidence: Math.round(100 * confidence) / 100, value: next() < truth ? 1 : 0, count: 1 }
  })
}

interface ResolutionRates {
  /** Flagged as a habit, by number of decisions. */
  flagged: number[]
  /** Flagged at least once in 180 daily looks. */
  ever: number
  /** Called well calibrated, by number of decisions. */
  fine: number[]
}

export function resolutionRates(name: string, histories: number): ResolutionRates {
  const { stated } = habits[name]!
  const reported = (seed: number, size: number) =>
    report(
      historyOf(stated, seed, size).map(({ confidence, value }) => {
        const outcome = value === 1 ? 'success' : 'failure'
        return { confidence, outcome, settled_by: 'others', count: 1 }
      }),
    )
  return {
    flagged: sizes.map((size) =>
      share(histories, (seed) => reported(seed, size).confidence_stats.habituation_detected),
    ),
    ever: share(histories, (seed) => {
      const all = historyOf(stated, seed, year)
      return all.some((_, at) => resolutionOf(all.slice(0, at + 1))?.finding === 'none')
    }),
    fine: sizes.map((size) =>
      share(histories, (seed) => reported(seed, size).verdict.interpretation === 'well_calibrated'),
    ),
  }
}
