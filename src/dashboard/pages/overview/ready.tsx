/** What is to be done, and why. */
import type { ReadyResult } from '../../../../sdk/client.ts'
import { ToDecision } from '../../route.tsx'
import { Badge, Empty } from '../../ui.tsx'

const names: Record<ReadyResult['actions'][number]['type'], string> = {
  review_outcome: 'Review',
  stale_pending: 'Left pending',
  calibration_drift: 'Calibration drifts',
  open_breaker: 'Breaker open',
  contradiction: 'Contradiction',
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

export function ActionList({ actions }: { actions: ReadyResult['actions'] }) {
  if (actions.length === 0) return <Empty>Nothing is to be done: no review is due and nothing drifts.</Empty>
  return (
    <ul class="plain actions">
      {actions.map(({ type, priority, decision_id, title, category, reason, suggestion }) => (
        <li key={`${type} ${decision_id ?? category}`}>
          <p>
            <Badge of={priority} /> <strong>{names[type]}</strong>{' '}
            {decision_id ? <ToDecision id={decision_id}>{title ?? decision_id}</ToDecision> : category}
          </p>
          <p class="quiet">
            {sentence(reason)} {sentence(suggestion)}
          </p>
        </li>
      ))}
    </ul>
  )
}
