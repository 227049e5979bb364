/** A gap between two shares in words, and the decisions that it is about. */
import { percent, whole } from '../figures.ts'

export type Gap = { low: number; high: number }

export const points = (gap: number): string => {
  const hundredths = 100 * Math.abs(gap)
  return hundredths > 0 && hundredths < 1 ? hundredths.toFixed(1) : hundredths.toFixed(0)
}

/** A gap with its side: `12 points too much`, for confidence that promises more than came true. */
export const signedPoints = (gap: number): string =>
  gap === 0 ? 'what came true' : `${points(gap)} points too ${gap < 0 ? 'much' : 'little'}`

/** The interval of a gap: `overconfident by 4 to 18 points`. */
export function inPoints({ low, high }: Gap): string {
  if (high < 0) return `overconfident by ${points(high)} to ${points(low)} points`
  if (low > 0) return `underconfident by ${points(low)} to ${points(high)} points`
  return `between ${points(low)} points overconfident and ${points(high)} underconfident`
}

export type Side = { scored: number; mean_confidence: number; accuracy: number } | null
const sideText = (of: Side): string =>
  of === null
    ? 'none'
    : `${percent(of.accuracy)} of ${whole(of.scored)} came true (said ${percent(of.mean_confidence)})`

/** The last 30 days against the time before, always both, each with its number. */
export const bothPeriods = ({ recent, before }: { recent: Side; before: Side }): string =>
  `in the last 30 days ${sideText(recent)}, before ${sideText(before)}`

/** Which decisions: `of migrator at critical stakes`; empty for all. */
export const partWords = (part: { agent?: string | null; category?: string | null; stakes?: string | null }): string =>
  [part.agent && `of ${part.agent}`, part.category && `in ${part.category}`, part.stakes && `at ${part.stakes} stakes`]
    .filter(Boolean)
    .join(' ')
