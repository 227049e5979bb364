/** Outcomes over time, with the days on which the rules changed; a column opens its decisions. */
import type { GetStatsResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Columns } from '../../charts.tsx'
import { dayOf } from '../../figures.ts'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'

const t = texts.outcomes
const kinds = ['success', 'partial', 'failure', 'abandoned', 'pending'] as const
const day = 86_400_000
const most = 14
/** So few of the oldest are one column: they would press all others to the edge. */
const oldest = 0.01

interface Span {
  from: string
  to: string
}

/** The days in at most 14 spans of the same length; before them one of what is much older. */
function spansOf(days: GetStatsResult['by_day'], since: string | undefined, now_ms: number): Span[] {
  const total = days.reduce((sum, { count }) => sum + count, 0)
  let seen = 0
  const first = days.find(({ count }) => {
    seen += count
    return seen > oldest * total
  })
  const from = since?.slice(0, 10) ?? first?.date ?? dayOf(now_ms)
  const start = Date.parse(from)
  const length = Math.ceil(Math.max(1, Math.round((Date.parse(dayOf(now_ms)) - start) / day) + 1) / most)
  const count = Math.ceil((Math.round((Date.parse(dayOf(now_ms)) - start) / day) + 1) / length)
  const spans = Array.from({ length: Math.max(1, count) }, (_, at) => ({
    from: dayOf(start + at * length * day),
    to: dayOf(start + ((at + 1) * length - 1) * day),
  }))
  const older = since === undefined && days[0] && days[0].date < from
  return older ? [{ from: days[0]!.date, to: dayOf(start - day) }, ...spans] : spans
}

async function load(spans: readonly Span[], signal: AbortSignal) {
  const calls = spans.flatMap((span) =>
    kinds.map((kind) => ({
      method: 'listDecisions' as const,
      params: {
        limit: 1,
        date_from: span.from,
        date_to: span.to,
        ...(kind === 'pending' ? { status: 'pending' as const } : { outcome: kind }),
      },
    })),
  )
  const [answers, { changes }] = await Promise.all([
    service.batch(calls, { signal }),
    service.getPolicy({}, { signal }),
  ])
  return spans.map(({ from, to }, at) => ({
    name: from === to ? from : t.span(from, to),
    short: from,
    to: { path: '/decisions', query: { from, to } },
    marks: changes
      .map(({ in_force_from }) => in_force_from.slice(0, 10))
      // The first rules are no change.
      .slice(0, -1)
      .filter((one) => one >= from && one <= to)
      .reverse(),
    parts: kinds.map((kind, of) => {
      const answer = answers[at * kinds.length + of]!
      if (!answer.ok) throw answer.error
      return { name: kind, value: answer.result.total }
    }),
  }))
}

/** @param since first instant of the period; undefined for all time */
export function Outcomes({ since, days }: { since: string | undefined; days: GetStatsResult['by_day'] }) {
  const spans = spansOf(days, since, Date.now())
  const loaded = useCall(JSON.stringify(spans), (signal) => load(spans, signal))
  return <Show of={loaded}>{(columns) => <Columns unit={t.decisions} columns={columns} mark={t.changed} />}</Show>
}
