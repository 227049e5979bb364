/** Sums over decisions, and over the parts that agents, categories and stakes divide them into. */
import type { Stakes } from '../../../../sdk/schema/decision.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { countOf, round, type Scored } from '../../../core/figures.ts'
import { anytimeInterval } from './anytime.ts'
import type { Interval } from './interval.ts'

/** What parts are divided by. */
export const dimensions = ['agent', 'category', 'stakes'] as const
export type Dimension = (typeof dimensions)[number]

/** Sums over decisions. */
export type Sum = Pick<ScoreSum, 'count' | 'confidence' | 'value'>

/** Sums of decisions whose stakes are known. */
export interface Weighed extends Sum {
  /** Number of the decisions, each counted by the weight of its stakes. */
  weighed: number
}

/** A failure costs about twice as much with each step. */
export const weights: Record<Stakes, number> = { low: 1, medium: 2, high: 4, critical: 8 }

export const sumOf = (groups: readonly Scored[]): Sum => ({
  count: countOf(groups),
  confidence: groups.reduce((sum, { confidence, count }) => sum + confidence * count, 0),
  value: groups.reduce((sum, { value, count }) => sum + value * count, 0),
})

export const gapOf = ({ count, confidence, value }: Sum): number => (value - confidence) / count

/** The interval of the gap, rounded as it is shown, so that readers see whether it excludes 0. @param error share of intervals that may miss */
export function gapInterval(sum: Sum, error = 0.05): Interval {
  const { low, high } = anytimeInterval(sum.value, sum.count, error)
  const stated = sum.confidence / sum.count
  return { low: round(low - stated), high: round(high - stated) }
}

/** Separates the two values of a pair. */
export const separator = ' / '

/** The decisions with these values of these dimensions. */
export interface Part extends Weighed {
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
    const part = parts.get(key) ?? { names, values, count: 0, confidence: 0, value: 0, weighed: 0 }
    part.count += sum.count
    part.confidence += sum.confidence
    part.value += sum.value
    part.weighed += sum.count * weights[sum.stakes]
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

const none: Weighed = { count: 0, confidence: 0, value: 0, weighed: 0 }

/** All decisions together. */
export const wholeOf = (sums: readonly ScoreSum[]): Weighed => partsBy(sums, [])[0] ?? none

/** Finds the same part of other decisions; nothing if it has none of them. */
export function partsIn(sums: readonly ScoreSum[]): (part: Pick<Part, 'names' | 'values'>) => Weighed {
  const known = new Map<string, Map<string, Part>>()
  return ({ names, values }) => {
    const by = names.join()
    if (!known.has(by)) known.set(by, new Map(partsBy(sums, names).map((part) => [JSON.stringify(part.values), part])))
    return known.get(by)!.get(JSON.stringify(values)) ?? none
  }
}
