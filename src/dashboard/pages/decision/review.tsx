/** The outcome of a decision, and the form that records it. */
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { useView } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge, Pairs, Panel, prose } from '../../ui.tsx'
import { OutcomeForm } from './outcome.tsx'

const t = texts.review

export function Review({ record }: { record: GetDecisionResult }) {
  const mayWrite = useView().edits
  const [result, show] = useResult()
  const { outcome, actual_result, lessons, review_notes } = record
  return (
    <Panel title={t.review} at="review">
      {outcome === null ? (
        <p>{t.due(record.review_by)}</p>
      ) : (
        <Pairs
          rows={[
            [t.outcome, [<Badge of={outcome} />, record.reviewed_by && ` by ${record.reviewed_by}`]],
            [t.actual, prose(actual_result)],
            [t.nextTime, prose(lessons)],
            [t.notes, prose(review_notes)],
          ]}
        />
      )}
      {result}
      {mayWrite && (
        <details open={outcome === null}>
          <summary>{outcome === null ? t.start : t.again}</summary>
          <OutcomeForm
            id={record.id}
            done={(answer) => {
              show(t.reviewed(answer))
              refreshPage()
            }}
          />
        </details>
      )}
    </Panel>
  )
}
