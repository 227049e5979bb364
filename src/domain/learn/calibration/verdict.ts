/**
 * The one verdict on a set of decisions, for every surface: the part of them from which most harm is to be expected now, among those that are
 * proven to be off. A mean over all decisions hides an overconfident agent behind an underconfident one, and a mean over all time hides a fall.
 *
 * Expected harm is the recent gap towards overconfidence × the weight of the stakes × the number of recent decisions (`standing.ts`).
 * The whole is judged by its 95 % interval. The parts are tested in two families: each agent, category and stakes, then the pairs of these.
 * Bonferroni's correction divides 4 % of error among the first family and 1 % among the second, and in each three quarters for all decisions
 * and one quarter for the last 30 days. Intervals hold for continuous looking (`anytime.ts`). A part gives the verdict if its interval
 * excludes 0 and the gap that gave the verdict before it, so that the part is proven to be worse.
 * @see Dunn, "Multiple comparisons among means", Journal of the American Statistical Association 56 (1961)
 */

import type { Verdict } from '../../../../sdk/schema/calibration.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { interpret, minScored, round, type Scored } from '../../../core/figures.ts'
import type { Interval } from './interval.ts'
import { shownP, upperTail } from './permutation.ts'
import { type Resolution, resolutionOf } from './resolution.ts'
import { harmOf, isPast, nowOf, type Standing, sidesOf } from './standing.ts'
import {
  type Dimension,
  dimensions,
  gapInterval,
  gapOf,
  isWhollyOf,
  type Part,
  partsBy,
  partsIn,
  type Sum,
  separator,
  sumOf,
  type Weighed,
  wholeOf,
} from './sums.ts'

type Proof = NonNullable<Verdict['proven_by']>

/** The gap of these decisions if it is outside the range that is called well calibrated and proven not to be 0; else null. @param error share of intervals that may miss */
export function provenGap(sum: Sum, error = 0.05): (Interval & { gap: number }) | null {
  if (sum.count < minScored) return null
  const [gap, interval] = [gapOf(sum), gapInterval(sum, error)]
  return interpret(gap, sum.count) !== 'well_calibrated' && excludes(interval, 0) ? { gap, ...interval } : null
}

const excludes = ({ low, high }: Interval, gap: number): boolean => low > gap || high < gap

/** Within this many standard deviations of 0 no interval of a family excludes 0, so most parts need no interval. */
const clearlyWithin = 1.6

/** Shares of intervals that may miss: of the last 30 days, of all decisions beside them, and of all decisions if there are no others. */
interface Errors {
  recent: number
  all: number
  only: number
}
const split = (error: number): Errors => ({ recent: error / 4, all: (3 * error) / 4, only: error })
/** The interval of all decisions is the one that is shown beside them. */
const wholeErrors: Errors = { recent: 0.025, all: 0.05, only: 0.05 }

/** Overconfidence is worse than underconfidence, since it lets failures pass; after that, a larger gap is worse. */
const isWorse = ({ low, high }: Interval, base: number): boolean =>
  high < Math.min(0, base) || (base >= 0 && low > base)

type Evidence = Interval & Pick<Proof, 'n' | 'gap' | 'period'>

/** What proves that these decisions are off by more than `base`: those of the last 30 days, else all of them. @param past only the last 30 days count */
function evidenceOf({ all, recent }: Standing, errors: Errors, base: number, past: boolean): Evidence | null {
  const of = (sum: Sum, period: Proof['period'], error: number): Evidence | null => {
    const { count: n } = sum
    const [gap, stated] = [gapOf(sum), sum.confidence / n]
    if (n < minScored || interpret(gap, n) === 'well_calibrated') return null
    if (Math.abs(gap) < clearlyWithin * Math.sqrt((stated * (1 - stated)) / n)) return null
    const interval = gapInterval(sum, error)
    return isWorse(interval, base) ? { n, gap, ...interval, period } : null
  }
  if (recent.count === all.count || (recent.count < minScored && !past)) return of(all, 'all', errors.only)
  return of(recent, 'recent', errors.recent) ?? (past ? null : of(all, 'all', errors.all))
}

interface Found extends Pick<Proof, 'by' | 'key'> {
  evidence: Evidence
  standing: Standing
  harm: number
}

const distance = ({ low, high }: Interval): number => Math.min(Math.abs(low), Math.abs(high))

/** Most expected harm first; without any, the largest gap that is proven. */
const worstFirst = (a: Found, b: Found): number =>
  Math.sign(a.evidence.gap) - Math.sign(b.evidence.gap) ||
  b.harm - a.harm ||
  distance(b.evidence) - distance(a.evidence) ||
  compareText(a.by, b.by) ||
  compareText(a.key, b.key)

/** A category is off if an agent in it is. Of parts by different fields, the one with the larger gap explains the harm. */
const sharpestFirst = (a: Found, b: Found): number =>
  Math.sign(a.evidence.gap) - Math.sign(b.evidence.gap) ||
  a.harm * nowOf(a.standing) - b.harm * nowOf(b.standing) ||
  worstFirst(a, b)

const foundOf = (part: Part, standing: Standing, evidence: Evidence): Found => ({
  by: part.names.join('_') as Proof['by'],
  key: part.values.join(separator),
  evidence,
  standing,
  harm: harmOf(standing),
})

function worstIn(found: readonly Found[]): Found | null {
  const champions = [...Map.groupBy(found, ({ by }) => by).values()].map((of) => of.sort(worstFirst)[0]!)
  return champions.sort(sharpestFirst)[0] ?? null
}

/** Finds the last 30 days of a part, and whether they, or those of one of its fields alone, leave the time before behind. */
interface Now {
  recentOf(part: Part): Weighed
  isPastOf(part: Part): boolean
}

function nowIn(sums: readonly ScoreSum[], recent: readonly ScoreSum[]): Now {
  const recentOf = partsIn(recent)
  const past = new Set<string>()
  const keyOf = (name: string, value: string): string => JSON.stringify([name, value])
  for (const part of dimensions.flatMap((name) => partsBy(sums, [name])))
    if (isPast({ all: part, recent: recentOf(part) })) past.add(keyOf(part.names[0]!, part.values[0]!))
  return {
    recentOf,
    isPastOf: (part) =>
      isPast({ all: part, recent: recentOf(part) }) ||
      part.names.some((name, at) => past.has(keyOf(name, part.values[at]!))),
  }
}

/** The worst of the parts of a family that are proven to be worse than the gap `base`. */
function worstOf({ parts, error }: Family, { recentOf, isPastOf }: Now, base: number): Found | null {
  const errors = split(error / parts.length)
  const found = parts.flatMap((part): Found[] => {
    const standing = { all: part, recent: recentOf(part) }
    const evidence = evidenceOf(standing, errors, base, isPastOf(part))
    return evidence ? [foundOf(part, standing, evidence)] : []
  })
  return worstIn(found)
}

/** One look finds these decisions overconfident. */
function isSuspect(sum: Sum, error: number): boolean {
  const { count: n, confidence, value } = sum
  if (n < minScored || value > confidence || interpret(gapOf(sum), n) === 'well_calibrated') return false
  return upperTail((confidence - value) / Math.sqrt((confidence * (n - confidence)) / n)) < error
}

/**
 * The agent with the most expected harm among those that Spiegelhalter's z finds overconfident in the last 30 days: one look, so that it is
 * something to watch and no proof yet. Categories and stakes don't act; they need proof.
 * @see Spiegelhalter, "Probabilistic prediction in patient management and clinical trials", Statistics in Medicine 5 (1986)
 */
function watched({ parts }: Family, { recentOf }: Now, error: number): Found | null {
  const agents = parts.filter(({ names }) => names[0] === 'agent')
  const found = agents.flatMap((part): Found[] => {
    const standing = { all: part, recent: recentOf(part) }
    if (!isSuspect(standing.recent, error)) return []
    const { count: n } = standing.recent
    const evidence: Evidence = { n, gap: gapOf(standing.recent), ...gapInterval(standing.recent), period: 'recent' }
    return [foundOf(part, standing, evidence)]
  })
  return worstIn(found)
}

export interface Family {
  /** Share of histories in which the family may report a part that is in fact calibrated. */
  error: number
  parts: Part[]
}

const pairs: readonly Dimension[][] = [
  ['agent', 'category'],
  ['agent', 'stakes'],
  ['category', 'stakes'],
]

/** The families in the order in which they are tested. A part with all decisions is the whole, and is in neither of them. */
export function familiesOf(whole: Pick<Sum, 'count'>, sums: readonly ScoreSum[]): Family[] {
  const singles = dimensions.flatMap((name) => partsBy(sums, [name]))
  const isSingle = isWhollyOf(singles)
  const families = [
    { error: 0.04, parts: singles.filter(({ count }) => count < whole.count) },
    { error: 0.01, parts: pairs.flatMap((names) => partsBy(sums, names)).filter((pair) => !isSingle(pair)) },
  ]
  return families.map(({ error, parts }) => ({ error, parts: parts.filter(({ count }) => count >= minScored) }))
}

/**
 * @param groups all scored decisions
 * @param sums the same decisions by agent, category and stakes
 * @param recent those of `sums` that were recorded in the last 30 days
 */
export function verdictOf(groups: readonly Scored[], sums: readonly ScoreSum[], recent: readonly ScoreSum[]): Verdict {
  const whole = { ...sumOf(groups), weighed: wholeOf(sums).weighed }
  const standing = { all: whole, recent: wholeOf(recent) }
  const resolution = resolutionOf(groups)
  const answer = (interpretation: Verdict['interpretation'], proof: Found | null, subject: Found | null): Verdict => {
    const of = subject?.standing ?? standing
    return {
      interpretation,
      proven_by: proof && { by: proof.by, key: proof.key, ...proof.evidence, gap: round(proof.evidence.gap) },
      subject: subject && { by: subject.by, key: subject.key },
      ...sidesOf(of),
      harm: round(harmOf(of)),
      resolution: resolution && { finding: resolution.finding, p_value: shownP(resolution.p_value) },
    }
  }
  if (whole.count < minScored) return answer('insufficient_data', null, null)
  const proven = evidenceOf(standing, wholeErrors, 0, isPast(standing))
  let base = proven?.gap ?? 0
  let worst: Found | null = null
  const now = nowIn(sums, recent)
  const families = familiesOf(whole, sums)
  for (const family of families) {
    const found = worstOf(family, now, base)
    if (found === null || !replaces(found, worst)) continue
    worst = found
    base = found.evidence.gap
  }
  // If something else is a headline anyway, another agent does not need to be singled out by chance from all parts.
  const watch = watched(families[0]!, now, worst === null ? 0.05 / families[0]!.parts.length : 0.05)
  const subject = watch !== null && watch.harm > (worst?.harm ?? 0) && !isWithin(worst, watch) ? watch : worst
  if (worst !== null) return answer(interpret(worst.evidence.gap, worst.evidence.n), worst, subject)
  return answer(proven ? interpret(proven.gap, proven.n) : unproven(standing, resolution, watch), null, subject)
}

/** The pair has a value that is the other part. */
function isWithin(pair: Found | null, { by, key }: Found): boolean {
  const at = pair?.by.includes('_') ? pair.by.split('_').indexOf(by) : -1
  return at >= 0 && pair!.key.split(separator)[at] === key
}

/** A pair is named in place of one of its two values, which it says more about, or of what does less harm. */
function replaces(found: Found, worst: Found | null): boolean {
  return worst === null || found.harm >= worst.harm || isWithin(found, worst)
}

/** The verdict if no gap is proven: confidence that says nothing is not well calibrated, however well its mean fits, nor is a fall that is not proven yet. */
function unproven(standing: Standing, resolution: Resolution | null, watch: Found | null): Verdict['interpretation'] {
  if (resolution?.finding === 'none') return 'uninformative'
  const isUntested = resolution?.finding === 'open' && resolution.testable
  const fits = interpret(gapOf(standing.all), standing.all.count) === 'well_calibrated'
  const isWatched = watch !== null || isSuspect(standing.recent, 0.05)
  return fits && !isUntested && !isWatched ? 'well_calibrated' : 'insufficient_data'
}

/** What proves a part's gap in a table of cells: the criterion of the verdict, so that both agree. */
export function proofsIn(
  whole: Pick<Sum, 'count'>,
  sums: readonly ScoreSum[],
  recent: readonly ScoreSum[],
): (part: Part) => Evidence | null {
  const { recentOf, isPastOf } = nowIn(sums, recent)
  const [single, pair] = familiesOf(whole, sums).map(({ error, parts }) => split(error / Math.max(1, parts.length)))
  const isSingle = isWhollyOf(dimensions.flatMap((name) => partsBy(sums, [name])))
  const errorsOf = (part: Part): Errors => {
    if (part.count === whole.count) return wholeErrors
    return part.names.length === 1 || isSingle(part) ? single! : pair!
  }
  return (part) => evidenceOf({ all: part, recent: recentOf(part) }, errorsOf(part), 0, isPastOf(part))
}
