/** Every review and every change of a decision. */
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { time } from '../../figures.ts'
import { Badge, Panel } from '../../ui.tsx'

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export function History({ record }: { record: GetDecisionResult }) {
  const events = [
    { at: record.created_at, by: record.imported_by ?? record.recorded_by, what: <>recorded</> },
    ...record.revisions.map(({ updated_at, updated_by, old_values }) => ({
      at: updated_at,
      by: updated_by,
      what: (
        <>
          changed{' '}
          {Object.entries(old_values).map(([name, value]) => (
            <span key={name}>
              {name}, before: <q class="prose">{shown(value)}</q>{' '}
            </span>
          ))}
        </>
      ),
    })),
    ...record.review_history.map(({ reviewed_at, reviewed_by, outcome, actual_result }) => ({
      at: reviewed_at,
      by: reviewed_by,
      what: (
        <>
          reviewed <Badge of={outcome} /> {actual_result}
        </>
      ),
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : 1))
  return (
    <Panel title="History">
      <ol class="timeline">
        {events.map(({ at, by, what }, number) => (
          <li key={number}>
            <p class="quiet">
              {time(at)}, {by}
            </p>
            <p>{what}</p>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
