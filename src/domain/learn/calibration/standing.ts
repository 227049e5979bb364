/** How some decisions stand now: the last 30 days beside the time before, and the harm that is to be expected of their confidence. */
import type { CalibrationSide } from '../../../../sdk/schema/calibration.ts'
import { minScored, round } from '../../../core/figures.ts'
import { gapInterval, gapOf, type Sum, type Weighed } from './sums.ts'

/** A verdict is about now: this many days, compared with the time before. */
export const standingDays = 30

export interface Standing {
  all: Weighed
  /** Those of `all` that were recorded in the last 30 days. */
  recent: Weighed
}

/** The earlier gap counts as much as this many recent decisions, so that two of them don't make a gap. */
const memory = 10

/** The gap that is to be expected of the next decision. */
export function nowOf({ all, recent }: Standing): number {
  const before = less(all, recent)
  const kept = Math.min(before.count, memory)
  const earlier = before.count === 0 ? 0 : gapOf(before) * kept
  return (recent.value - recent.confidence + earlier) / Math.max(1, recent.count + kept)
}

/** Failures in 30 days that confidence did not announce, counted by the weight of their stakes; 0 without recent decisions or overconfidence. */
export const harmOf = (of: Standing): number => Math.max(0, -nowOf(of)) * of.recent.weighed

const less = (all: Sum, part: Sum): Sum => ({
  count: all.count - part.count,
  confidence: all.confidence - part.confidence,
  value: all.value - part.value,
})

const variance = ({ value, count }: Sum): number => Math.max(0.05, (value / count) * (1 - value / count)) / count
/** One-sided 5 %, in standard deviations. */
const critical = 1.64

/** The last 30 days are better than the time before, by more than chance explains: what was proven of it says nothing about now. */
export function isPast({ all, recent }: Standing): boolean {
  const before = less(all, recent)
  if (recent.count < minScored || before.count < minScored) return false
  const [now, then] = [gapOf(recent), gapOf(before)]
  return Math.sign(then) * (then - now) > critical * Math.sqrt(variance(recent) + variance(before))
}

function sideOf(sum: Sum): CalibrationSide | null {
  if (sum.count <= 0) return null
  const interval = sum.count < minScored ? null : gapInterval(sum)
  return {
    scored: round(sum.count),
    mean_confidence: round(sum.confidence / sum.count),
    accuracy: round(sum.value / sum.count),
    calibration_gap: round(gapOf(sum)),
    gap_low: interval?.low ?? null,
    gap_high: interval?.high ?? null,
  }
}

/** Both periods, each null without decisions. */
export const sidesOf = ({ all, recent }: Standing) => ({
  recent: sideOf(recent),
  before: sideOf(less(all, recent)),
})
