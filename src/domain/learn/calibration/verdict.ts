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
type Dimension = 'agent' | 'category' | 'stakes'

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

/** The gap of these decisions if it is outside the range that is called well calibrated and proven not to be 0; else null. */
export function provenGap(sum: Sum): (Interval & { gap: number }) | null {
  if (sum.count < minScored) return null
  const [gap, interval] = [gapOf(sum), gapInterval(sum)]
  return interpret(gap, sum.count) !== 'well_calibrated' && excludes(interval, 0) ? { gap, ...interval } : null
}

export const excludes = ({ low, high }: Interval, gap: number): boolean => low > gap || high < gap

/** Separates the two values of a pair. */
export const separator = ' / '

export interface Part extends Sum {
  by: Proof['by']
  key: string
}

const add = (part: Part, { count, confidence, value }: Sum): void => {
  part.count += count
  part.confidence += confidence
  part.value += value
}

const emptyPart = (by: Proof['by'], key: string): Part => ({ by, key, count: 0, confidence: 0, value: 0 })

/** The part number of a sum without a category. */
const none = -1

/** The parts by one dimension, and the part number of each sum. */
function singlesBy(sums: readonly ScoreSum[], name: Dimension): { parts: Part[]; of: Int32Array } {
  const numbers = new Map<string, number>()
  const parts: Part[] = []
  const of = new Int32Array(sums.length)
  for (const [at, sum] of sums.entries()) {
    const key = sum[name]
    if (key === null) {
      of[at] = none
      continue
    }
    let number = numbers.get(key)
    if (number === undefined) {
      number = parts.push(emptyPart(name, key)) - 1
      numbers.set(key, number)
    }
    add(parts[number]!, sum)
    of[at] = number
  }
  return { parts, of }
}
type Singles = ReturnType<typeof singlesBy>

/** The parts by two dimensions, without those that have all decisions of one of their two values, which are the same set. */
function pairsBy(sums: readonly ScoreSum[], by: Proof['by'], first: Singles, second: Singles): Part[] {
  const width = second.parts.length
  const parts = new Map<number, Part>()
  for (const [at, sum] of sums.entries()) {
    if (first.of[at] === none || second.of[at] === none) continue
    const number = first.of[at]! * width + second.of[at]!
    let part = parts.get(number)
    if (part === undefined) {
      part = emptyPart(by, '')
      parts.set(number, part)
    }
    add(part, sum)
  }
  return [...parts].flatMap(([number, part]) => {
    const [one, other] = [first.parts[Math.floor(number / width)]!, second.parts[number % width]!]
    if (part.count === one.count || part.count === other.count) return []
    return [{ ...part, key: one.key + separator + other.key }]
  })
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
    const { by, key, count: n } = part
    const gap = gapOf(part)
    const stated = part.confidence / n
    if (interpret(gap, n) === 'well_calibrated') return []
    if (Math.abs(gap) < clearlyWithin * Math.sqrt((stated * (1 - stated)) / n)) return []
    const interval = gapInterval(part, error / family.length)
    return isWorse(interval, base) ? [{ by, key, n, gap, ...interval }] : []
  })
  return proofs.sort(worstFirst)[0] ?? null
}

const shares = { single: 0.04, pair: 0.01 }

export interface Family {
  /** Share of histories in which the family may report a part that is in fact calibrated. */
  error: number
  parts: Part[]
}

/** The families in the order in which they are tested. A part with all decisions is the whole, and is in neither of them. */
export function familiesOf(whole: Pick<Sum, 'count'>, sums: readonly ScoreSum[]): Family[] {
  const [agent, category, stakes] = (['agent', 'category', 'stakes'] as const).map((name) => singlesBy(sums, name)) as [
    Singles,
    Singles,
    Singles,
  ]
  const families = [
    {
      error: shares.single,
      parts: [agent, category, stakes].flatMap(({ parts }) => parts).filter(({ count }) => count < whole.count),
    },
    {
      error: shares.pair,
      parts: [
        ...pairsBy(sums, 'agent_category', agent, category),
        ...pairsBy(sums, 'agent_stakes', agent, stakes),
        ...pairsBy(sums, 'category_stakes', category, stakes),
      ],
    },
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
