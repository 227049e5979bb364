/** Outcomes over time: how many decisions of each span turned out how. */
import { Show, useCall } from '../../call.tsx'
import { Columns } from '../../charts.tsx'
import { dayOf } from '../../figures.ts'
import { service } from '../../service.ts'

const kinds = ['success', 'partial', 'failure', 'abandoned', 'pending'] as const
const day = 86_400_000
const most = 14

/** Days from `from` to today in at most 14 spans of the same length. */
function spansFrom(from: string): { from: string; to: string }[] {
  const start = Date.parse(from.slice(0, 10))
  const days = Math.max(1, Math.round((Date.parse(dayOf(Date.now())) - start) / day) + 1)
  const length = Math.ceil(days / most)
  return Array.from({ length: Math.ceil(days / length) }, (_, at) => ({
    from: dayOf(start + at * length * day),
    to: dayOf(start + ((at + 1) * length - 1) * day),
  }))
}

async function load(from: string, signal: AbortSignal) {
  const spans = spansFrom(from)
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
  const answers = await service.batch(calls, { signal })
  return spans.map((span, at) => ({
    name: span.from === span.to ? span.from : `${span.from} to ${span.to}`,
    short: span.from,
    parts: kinds.map((kind, of) => {
      const answer = answers[at * kinds.length + of]!
      if (!answer.ok) throw answer.error
      return { name: kind, value: answer.result.total }
    }),
  }))
}

export function Outcomes({ from }: { from: string }) {
  const loaded = useCall(from.slice(0, 10), (signal) => load(from, signal))
  return <Show of={loaded}>{(columns) => <Columns unit="decisions" columns={columns} />}</Show>
}
