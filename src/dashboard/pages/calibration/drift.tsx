/** Whether the last thirty days are worse than what came before, and how likely that is chance. */
import { Show, useCall } from '../../call.tsx'
import { counted, decimal } from '../../figures.ts'
import { service } from '../../service.ts'
import { Badge, Table, Term } from '../../ui.tsx'
import { Breakdown } from './breakdown.tsx'
import { DriftHistory } from './drift-history.tsx'

const names = { brier_degradation: 'Brier score rose', accuracy_drop: 'Accuracy fell' }
const spans = [
  ['30d', 'Last 30 days'],
  ['60d', 'Last 60 days'],
  ['90d', 'Last 90 days'],
  ['all', 'All time'],
] as const

/** Half a year, the last of them now. */
const weeks = 27

async function load(of: { agent?: string; category?: string }, signal: AbortSignal) {
  const [drift, ...reports] = await Promise.all([
    service.checkDrift({ ...of, history_points: weeks }, { signal }),
    ...spans.map(([window]) => service.getCalibration({ ...of, window }, { signal })),
  ])
  return { drift, rows: reports.map(({ overall }, at) => ({ name: spans[at]![1], overall })) }
}

export function Drift({ of }: { of: { agent?: string; category?: string } }) {
  const loaded = useCall(JSON.stringify(of), (signal) => load(of, signal))
  return (
    <Show of={loaded}>
      {({ drift, rows }) => (
        <>
          <p>
            {drift.drift_detected ? 'Yes. ' : 'No sign of it. '}
            Compared are {drift.recent_period} ({counted(drift.recent_scored, 'scored decision')}) and{' '}
            {drift.historical_period} ({counted(drift.historical_scored, 'scored decision')}).
          </p>
          {drift.alerts.length > 0 && (
            <Table
              caption="What got worse"
              heads={[
                { name: 'What' },
                { name: 'Before', number: true },
                { name: 'Now', number: true },
                { name: 'p-value', label: <Term name="pvalue">p-value</Term>, number: true },
                { name: 'Severity' },
              ]}
              rows={drift.alerts.map(({ type, historical_value, recent_value, p_value, severity }) => [
                names[type],
                decimal(historical_value),
                decimal(recent_value),
                decimal(p_value),
                <Badge of={severity} />,
              ])}
            />
          )}
          {drift.recommendations.map((one) => (
            <p key={one}>{one}</p>
          ))}
          <DriftHistory history={drift.history} />
          <Breakdown first="Period" rows={rows} />
        </>
      )}
    </Show>
  )
}
