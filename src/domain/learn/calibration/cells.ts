/** Calibration by pairs of agent, category and stakes: stated confidence and result of each cell, and what is proven about it. */

import type { CalibrationCell } from '../../../../sdk/schema/calibration.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { interpret, minScored, round } from '../../../core/figures.ts'
import { exactInterval } from './interval.ts'
import { harmOf, sidesOf } from './standing.ts'
import type { VerdictSums } from './stored-verdict.ts'
import { type Dimension, gapInterval, gapOf, type Part, partsBy, partsIn, type Sum } from './sums.ts'
import { proofsIn } from './verdict.ts'

export const cellKinds = ['agent_stakes', 'agent_category', 'category_stakes'] as const
export type CellKind = (typeof cellKinds)[number]
type Key = Pick<CalibrationCell, Dimension>

/** A trend compares this many days with the time before them. */
export const trendDays = 90

const textOf = (key: Key): string => JSON.stringify([key.agent, key.category, key.stakes])

type Cell = Part & { key: Key }

/** The sums of each cell, row and column, and of the whole; null means all values. */
function cellsBy(sums: readonly ScoreSum[], kind: CellKind): Map<string, Cell> {
  const [first, second] = kind.split('_') as [Dimension, Dimension]
  const parts = [[first, second], [first], [second], []].flatMap((names) => partsBy(sums, names))
  return new Map(
    parts.map((part) => {
      const named = Object.fromEntries(part.names.map((name, at) => [name, part.values[at]]))
      const key = { agent: null, category: null, stakes: null, ...named } as Key
      return [textOf(key), { ...part, key }]
    }),
  )
}

/**
 * How a gap moved: `steady` unless the 95 % interval of its change excludes 0. A gap is the result less the stated confidence, so that it falls
 * where confidence came to promise more than it keeps. That is never an improvement: from 22 points too modest to 12 points too confident, the
 * gap is smaller and the danger new.
 */
function directionOf(now: number, then: number): 'improving' | 'worsening' | 'steady' {
  if (now < then) return now < 0 ? 'worsening' : 'steady'
  return Math.abs(now) < Math.abs(then) ? 'improving' : 'worsening'
}

function trendOf(recent: Sum | undefined, before: Sum | undefined): CalibrationCell['trend'] {
  if (!recent || !before || recent.count < minScored || before.count < minScored) return null
  const [now, then] = [gapOf(recent), gapOf(before)]
  const [a, b] = [gapInterval(recent), gapInterval(before)]
  const change = now - then
  const low = change - Math.hypot(now - a.low, b.high - then)
  const high = change + Math.hypot(a.high - now, then - b.low)
  const moved = low > 0 || high < 0
  return {
    direction: moved ? directionOf(now, then) : 'steady',
    recent_scored: round(recent.count),
    recent_gap: round(now),
    earlier_scored: round(before.count),
    earlier_gap: round(then),
  }
}

/**
 * The cells, rows, columns and the whole, largest first.
 * @param last those of `sums` of the last 30 days
 * @param recent the sums of the last 90 days, whatever period `sums` covers; `earlier` those of the time before
 */
export function cellsOf(
  kind: CellKind,
  { sums, recent: last }: VerdictSums,
  recent: readonly ScoreSum[],
  earlier: readonly ScoreSum[],
): CalibrationCell[] {
  const all = cellsBy(sums, kind)
  const whole = [...all.values()].reduce((most, one) => (one.count > most.count ? one : most), {
    count: 0,
    confidence: 0,
    value: 0,
  } as Sum)
  const proofOf = proofsIn(whole, sums, last)
  const [now, then] = [cellsBy(recent, kind), cellsBy(earlier, kind)]
  const lastOf = partsIn(last)
  return [...all]
    .sort(
      ([a, one], [b, other]) => other.count - one.count || one.names.length - other.names.length || compareText(a, b),
    )
    .map(([text, { key, ...sum }]): CalibrationCell => {
      const gap = gapOf(sum)
      const [low, high] =
        sum.count < minScored ? [null, null] : Object.values(exactInterval(sum.value, sum.count, 0.05)).map(round)
      const standing = { all: sum, recent: lastOf(sum) }
      const proven = proofOf(sum)
      return {
        ...key,
        scored: round(sum.count),
        mean_confidence: round(sum.confidence / sum.count),
        accuracy: round(sum.value / sum.count),
        accuracy_low: low ?? null,
        accuracy_high: high ?? null,
        calibration_gap: round(gap),
        proven: proven && {
          interpretation: interpret(proven.gap, proven.n),
          period: proven.period,
          low: proven.low,
          high: proven.high,
        },
        ...sidesOf(standing),
        harm: round(harmOf(standing)),
        trend: trendOf(now.get(text), then.get(text)),
      }
    })
}
