/** When a decision was made, recorded, changed and reviewed, and by whom. */
import type { ComponentChildren } from 'preact'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { texts } from '../../texts.ts'
import { Badge, Panel, Timeline, When } from '../../ui.tsx'

const t = texts.history

interface Event {
  at: string
  by: string | null
  what: ComponentChildren
}

/** An imported decision was made at one time and recorded at another. */
function beginningOf({ created_at, recorded_at, recorded_by, imported_by }: GetDecisionResult): Event[] {
  if (recorded_at === undefined && imported_by === null) return [{ at: created_at, by: recorded_by, what: 'recorded' }]
  return [
    { at: created_at, by: recorded_by, what: t.decided },
    ...(recorded_at === undefined ? [] : [{ at: recorded_at, by: imported_by ?? recorded_by, what: 'imported' }]),
  ]
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export function History({ record }: { record: GetDecisionResult }) {
  const events: Event[] = [
    ...beginningOf(record),
    ...(record.revisions ?? []).map(({ updated_at, updated_by, old_values }) => ({
      at: updated_at,
      by: updated_by,
      what: (
        <>
          {t.changed}{' '}
          {Object.entries(old_values ?? {}).map(([name, value]) => (
            <span key={name}>
              {t.before(name)} <q class="prose">{shown(value)}</q>{' '}
            </span>
          ))}
        </>
      ),
    })),
    ...record.review_history.map(({ reviewed_at, reviewed_by, outcome, actual_result, lessons, notes, counts }) => ({
      at: reviewed_at,
      by: reviewed_by,
      what: (
        <>
          {t.reviewed} <Badge of={outcome} /> {[actual_result, lessons, notes].filter(Boolean).join(' · ')}{' '}
          {counts ? '' : t.uncounted}
        </>
      ),
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return (
    <Panel title={t.title} at="history">
      <Timeline
        of={events.map(({ at, by, what }) => ({
          head: [<When at={at} />, by && [', ', <Agent of={by} />]],
          body: <p>{what}</p>,
        }))}
      />
    </Panel>
  )
}
