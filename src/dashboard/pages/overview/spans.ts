/** Groups the days of decisions into spans of equal length that fit side by side. */
import { dayOf } from '../../figures.ts'

const day = 86_400_000
const most = 14
/** Up to this share of decisions, the oldest form one span: they would squeeze all others to the edge. */
const oldest = 0.01

export interface Span {
  /** First day; null for everything before the next span. */
  from: string | null
  to: string
}

/**
 * At most 14 spans up to now, preceded by one of much older decisions if there are any.
 * @param days with decisions, oldest first
 * @param since first instant of the period; undefined for all time
 */
export function spansOf(
  days: readonly { date: string; count: number }[],
  since: string | undefined,
  now_ms: number,
): Span[] {
  const total = days.reduce((sum, { count }) => sum + count, 0)
  let seen = 0
  const first = days.find(({ count }) => {
    seen += count
    return seen > oldest * total
  })
  const from = since?.slice(0, 10) ?? first?.date ?? dayOf(now_ms)
  const start = Date.parse(from)
  const shown = Math.max(1, Math.round((Date.parse(dayOf(now_ms)) - start) / day) + 1)
  const length = Math.ceil(shown / most)
  const spans = Array.from({ length: Math.ceil(shown / length) }, (_, at) => ({
    from: dayOf(start + at * length * day),
    to: dayOf(start + ((at + 1) * length - 1) * day),
  }))
  const older = since === undefined && days[0] && days[0].date < from
  return older ? [{ from: null, to: dayOf(start - day) }, ...spans] : spans
}
