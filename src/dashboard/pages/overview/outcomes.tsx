/** Outcomes over time, with the days on which the rules changed; a column opens its decisions. */
import type { GetStatsResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Columns } from '../../charts.tsx'
import { callAll, service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { type Span, spansOf } from './spans.ts'

const t = texts.outcomes
const kinds = ['success', 'partial', 'failure', 'abandoned', 'pending'] as const

async function load(spans: readonly Span[], signal: AbortSignal) {
  const calls = spans.flatMap(({ from, to }) =>
    kinds.map((kind) => ({
      method: 'listDecisions' as const,
      params: {
        limit: 1,
        ...(from !== null && { date_from: from }),
        date_to: to,
        ...(kind === 'pending' ? { status: 'pending' as const } : { outcome: kind }),
      },
    })),
  )
  const [answers, { changes }] = await Promise.all([callAll(calls, signal), service.getPolicy({}, { signal })])
  return spans.map(({ from, to }, at) => ({
    name: from === null ? t.until(to) : from === to ? from : t.span(from, to),
    short: from ?? t.older,
    to: { path: '/decisions', query: { from, to } },
    marks: changes
      .map(({ in_force_from }) => in_force_from.slice(0, 10))
      // The first rules are not a change.
      .slice(0, -1)
      .filter((one) => (from === null || one >= from) && one <= to)
      .reverse(),
    parts: kinds.map((name, of) => ({ name, value: answers[at * kinds.length + of]!.total })),
  }))
}

/** @param since first instant of the period; undefined for all time */
export function Outcomes({ since, days }: { since: string | undefined; days: GetStatsResult['by_day'] }) {
  const spans = spansOf(days, since, Date.now())
  const loaded = useCall(JSON.stringify(spans), (signal) => load(spans, signal))
  return <Show of={loaded}>{(columns) => <Columns unit={t.decisions} columns={columns} mark={t.changed} />}</Show>
}
