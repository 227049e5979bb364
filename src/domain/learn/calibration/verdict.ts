/**
 * The verdict on a set of decisions: the worst gap that is proven of the whole or of a part of it. A mean over all decisions hides an
 * overconfident agent behind an underconfident one.
 *
 * The whole is judged by its 95 % interval. The parts are tested in two families: each agent, category and stakes, then the pairs of these.
 * Bonferroni's correction divides 4 % of error among the first family and 1 % among the second: in at least 95 % of histories in which
 * every part is calibrated, no part is reported. A part gives the verdict if its interval excludes 0 and the gap that gave the verdict
 * before it, so that the part is proven to be worse.
 * @see Dunn, "Multiple comparisons among means", Journal of the American Statistical Association 56 (1961)
 */

import type { Verdict } from '../../../../sdk/schema/calibration.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { countOf, interpret, minScored, round, type Scored } from '../../../core/figures.ts'
import { exactInterval, type Interval } from './interval.ts'

type Proof = NonNullable<Verdict['proven_by']>
/** What parts are divided by. */
export const dimensions = ['agent', 'category', 'stakes'] as const
export type Dimension = (typeof dimensions)[number]

/** Sums over decisions. */
export type Sum = Pick<ScoreSum, 'count' | 'confidence' | 'value'>

export const sumOf = (groups: readonly Scored[]): Sum => ({
  count: countOf(groups),
  confidence: groups.reduce((sum, { confidence, count }) => sum + confidence * count, 0),
  value: groups.reduce((sum, { value, count }) => sum + value * count, 0),
})

export const gapOf = ({ count, confidence, value }: Sum): number => (value - confidence) / count

/** The interval of the gap, rounded as it is shown, so that readers see whether it excludes 0. @param error share of intervals that may miss */
export function gapInterval(sum: Sum, error = 0.05): Interval {
  const { low, high } = exactInterval(sum.value, sum.count, error)
  const stated = sum.confidence / sum.count
  return { low: round(low - stated), high: round(high - stated) }
}

/** The gap of these decisions if it is outside the range that is called well calibrated and proven not to be 0; else null. @param error share of intervals that may miss */
export function provenGap(sum: Sum, error = 0.05): (Interval & { gap: number }) | null {
  if (sum.count < minScored) return null
  const [gap, interval] = [gapOf(sum), gapInterval(sum, error)]
  return interpret(gap, sum.count) !== 'well_calibrated' && excludes(interval, 0) ? { gap, ...interval } : null
}

const excludes = ({ low, high }: Interval, gap: number): boolean => low > gap || high < gap

/** Separates the two values of a pair. */
export const separator = ' / '

/** The decisions with these values of these dimensions. */
export interface Part extends Sum {
  names: readonly Dimension[]
  values: readonly string[]
}

/** The parts by these dimensions. A decision without a category is in no part that names one. */
export function partsBy(sums: readonly ScoreSum[], names: readonly Dimension[]): Part[] {
  const parts = new Map<string, Part>()
  for (const sum of sums) {
    const values = names.flatMap((name) => sum[name] ?? [])
    if (values.length < names.length) continue
    const key = JSON.stringify(values)
    const part = parts.get(key) ?? { names, values, count: 0, confidence: 0, value: 0 }
    part.count += sum.count
    part.confidence += sum.confidence
    part.value += sum.value
    parts.set(key, part)
  }
  return [...parts.values()]
}

/** Returns whether a set with this number of decisions has all decisions of one of its values, and therefore is the same set as that value's. */
export function isWhollyOf(singles: readonly Part[]) {
  const counts = new Map(singles.map(({ names, values, count }) => [JSON.stringify([names[0], values[0]]), count]))
  return ({ names, values, count }: Pick<Part, 'names' | 'values' | 'count'>): boolean =>
    names.some((name, at) => counts.get(JSON.stringify([name, values[at]])) === count)
}

/** Within this many standard deviations of 0 no interval of a family excludes 0, so most parts need no interval. */
const clearlyWithin = 1.6

/** Overconfidence is worse than underconfidence, since it lets failures pass; after that, a larger gap is worse. */
const isWorse = ({ low, high }: Interval, base: number): boolean =>
  high < Math.min(0, base) || (base >= 0 && low > base)
const worstFirst = (a: Proof, b: Proof): number =>
  Math.sign(a.gap) - Math.sign(b.gap) ||
  Math.min(Math.abs(b.low), Math.abs(b.high)) - Math.min(Math.abs(a.low), Math.abs(a.high)) ||
  compareText(a.by, b.by) ||
  compareText(a.key, b.key)

/** The worst of the parts of a family that are proven to be worse than the gap `base`. */
function worstOf(family: readonly Part[], error: number, base: number): Proof | null {
  const proofs = family.flatMap((part): Proof[] => {
    const { names, values, count: n } = part
    const gap = gapOf(part)
    const stated = part.confidence / n
    if (interpret(gap, n) === 'well_calibrated') return []
    if (Math.abs(gap) < clearlyWithin * Math.sqrt((stated * (1 - stated)) / n)) return []
    const interval = gapInterval(part, error / family.length)
    const by = names.join('_') as Proof['by']
    return isWorse(interval, base) ? [{ by, key: values.join(separator), n, gap, ...interval }] : []
  })
  return proofs.sort(worstFirst)[0] ?? null
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

/** @param whole all scored decisions @param sums the same decisions by agent, category and stakes */
export function verdictOf(whole: Sum, sums: readonly ScoreSum[]): Verdict {
  if (whole.count < minScored) return { interpretation: 'insufficient_data', proven_by: null }
  const interval = gapInterval(whole)
  let base = excludes(interval, 0) ? gapOf(whole) : 0
  let worst: Proof | null = null
  for (const { error, parts } of familiesOf(whole, sums)) {
    const found = worstOf(parts, error, base)
    if (found === null) continue
    worst = found
    base = found.gap
  }
  if (worst !== null) {
    const { gap, n } = worst
    return { interpretation: interpret(gap, n), proven_by: { ...worst, gap: round(gap) } }
  }
  const pooled = interpret(gapOf(whole), whole.count)
  const isConclusive = pooled === 'well_calibrated' || base !== 0
  return { interpretation: isConclusive ? pooled : 'insufficient_data', proven_by: null }
}
