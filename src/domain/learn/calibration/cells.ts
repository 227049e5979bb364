/** Calibration by pairs of agent, category and stakes: stated confidence and result of each cell, and what is proven about it. */

import type { CalibrationCell } from '../../../../sdk/schema/calibration.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { interpret, minScored, round } from '../../../core/figures.ts'
import { exactInterval } from './interval.ts'
import { excludes, familiesOf, gapInterval, gapOf, type Sum } from './verdict.ts'

export const cellKinds = ['agent_stakes', 'agent_category', 'category_stakes'] as const
export type CellKind = (typeof cellKinds)[number]
type Name = 'agent' | 'category' | 'stakes'
type Key = Pick<CalibrationCell, Name>

/** A trend compares this many days with the time before them. */
export const trendDays = 90

const textOf = (key: Key): string => JSON.stringify([key.agent, key.category, key.stakes])

const namesIn = ({ agent, category, stakes }: Key): number =>
  [agent, category, stakes].filter((name) => name !== null).length

/** The sums of each cell, row and column, and of the whole; null means all values. */
function keyed(sums: readonly ScoreSum[], kind: CellKind): Map<string, Sum & { key: Key }> {
  const [first, second] = kind.split('_') as [Name, Name]
  const cells = new Map<string, Sum & { key: Key }>()
  for (const one of sums)
    for (const names of [[first, second], [first], [second], []]) {
      // A decision without a category is in no cell that names one.
      if (names.some((name) => one[name] === null)) continue
      const of = (name: Name) => (names.includes(name) ? one[name] : null)
      const key = { agent: of('agent'), category: of('category'), stakes: of('stakes') } as Key
      const text = textOf(key)
      const cell = cells.get(text) ?? { key, count: 0, confidence: 0, value: 0 }
      cell.count += one.count
      cell.confidence += one.confidence
      cell.value += one.value
      cells.set(text, cell)
    }
  return cells
}

/** The error of the interval that proves a cell's gap: the same as in the verdict, so that both agree. */
function errors(whole: Sum, sums: readonly ScoreSum[]): (key: Key, count: number) => number {
  const [single, pair] = familiesOf(whole, sums).map(({ error, parts }) => error / Math.max(1, parts.length)) as [
    number,
    number,
  ]
  const countsBy = (name: Name) => {
    const counts = new Map<string | null, number>()
    for (const one of sums) counts.set(one[name], (counts.get(one[name]) ?? 0) + one.count)
    return counts
  }
  const counts = { agent: countsBy('agent'), category: countsBy('category'), stakes: countsBy('stakes') }
  return (key, count) => {
    if (count === whole.count) return 0.05
    const names = (['agent', 'category', 'stakes'] as const).filter((name) => key[name] !== null)
    // A pair with all decisions of one of its names is the same set as that name's.
    return names.length === 1 || names.some((name) => counts[name].get(key[name]) === count) ? single : pair
  }
}

/** How a gap moved: `steady` unless the 95 % interval of its change excludes 0. A gap is the result less the stated confidence. */
function trendOf(recent: Sum | undefined, before: Sum | undefined): CalibrationCell['trend'] {
  if (!recent || !before || recent.count < minScored || before.count < minScored) return null
  const [now, then] = [gapOf(recent), gapOf(before)]
  const [a, b] = [gapInterval(recent), gapInterval(before)]
  const change = now - then
  const low = change - Math.hypot(now - a.low, b.high - then)
  const high = change + Math.hypot(a.high - now, then - b.low)
  const moved = low > 0 || high < 0
  return {
    direction: !moved ? 'steady' : Math.abs(now) < Math.abs(then) ? 'improving' : 'worsening',
    recent_scored: recent.count,
    recent_gap: round(now),
    earlier_scored: before.count,
    earlier_gap: round(then),
  }
}

/**
 * The cells, rows, columns and the whole, largest first.
 * @param recent the sums of the last 90 days, whatever period `sums` covers; `earlier` those of the time before
 */
export function cellsOf(
  kind: CellKind,
  sums: readonly ScoreSum[],
  recent: readonly ScoreSum[],
  earlier: readonly ScoreSum[],
): CalibrationCell[] {
  const all = keyed(sums, kind)
  const whole = [...all.values()].reduce((most, one) => (one.count > most.count ? one : most), {
    count: 0,
    confidence: 0,
    value: 0,
  } as Sum)
  const errorOf = errors(whole, sums)
  const [now, then] = [keyed(recent, kind), keyed(earlier, kind)]
  return [...all]
    .map(([text, { key, ...sum }]): CalibrationCell => {
      const gap = gapOf(sum)
      const [low, high] =
        sum.count < minScored ? [null, null] : Object.values(exactInterval(sum.value, sum.count, 0.05)).map(round)
      const interpretation = interpret(gap, sum.count)
      const sure = sum.count < minScored ? null : gapInterval(sum, errorOf(key, sum.count))
      const proven =
        sure !== null && interpretation !== 'well_calibrated' && excludes(sure, 0) ? { interpretation, ...sure } : null
      return {
        ...key,
        scored: sum.count,
        mean_confidence: round(sum.confidence / sum.count),
        accuracy: round(sum.value / sum.count),
        accuracy_low: low ?? null,
        accuracy_high: high ?? null,
        calibration_gap: round(gap),
        proven,
        trend: trendOf(now.get(text), then.get(text)),
      }
    })
    .sort((a, b) => b.scored - a.scored || namesIn(a) - namesIn(b) || compareText(textOf(a), textOf(b)))
}
