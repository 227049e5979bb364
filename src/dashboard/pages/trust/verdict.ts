/** What the cells of the trust table prove, in words: the worst proven one first, never the mean of all. */
import type { GetCalibrationResult } from '../../../../sdk/client.ts'
import { texts } from '../../texts.ts'

export type Cell = GetCalibrationResult['cells'][number]
const t = texts.trust

/** Overconfidence is worse than underconfidence; among equals the interval that is further from 0. */
const rank = ({ proven }: Cell): number => (proven === null ? 0 : proven.high < 0 ? proven.high - 1 : proven.low)
const worse = (a: Cell, b: Cell): number => rank(a) - rank(b)

/** A cell of two names; rows, columns and the total have fewer. */
const isInner = ({ agent, category, stakes }: Cell): boolean =>
  [agent, category, stakes].filter((name) => name !== null).length === 2

/** Cells that are proven to be overconfident, the worst first. */
export const overconfident = (cells: readonly Cell[]): Cell[] =>
  cells.filter(({ proven }) => proven !== null && proven.high < 0).sort(worse)

/** The headline: the worst proven gap. */
export function trustHeadline(cells: readonly Cell[]): string {
  const whole = cells[0]
  if (whole === undefined) return t.nothing
  // Of nested parts the smallest is the most specific.
  const proven = overconfident(cells)
  const worst = proven.find(isInner) ?? proven[0]
  if (worst) return t.worst(t.part(worst), worst.mean_confidence, worst.accuracy, worst.proven!, worst.scored)
  const under = cells.find(({ proven: one }) => one !== null && one.low > 0)
  if (under) return t.under(t.part(under), under.mean_confidence, under.accuracy, under.proven!, under.scored)
  return t.calm(whole.scored)
}
