/** The outcome of a decision, what its evidence proposes, and the form that records it. */
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { useView } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge, Pairs, Panel, prose } from '../../ui.tsx'
import { useWaits } from '../../undo.tsx'
import { OutcomeForm } from './outcome.tsx'

const t = texts.review
export function Review({ record }: { record: GetDecisionResult }) {
  const mayWrite = useView().edits
  const isSaved = useWaits()(record.id)
  const { outcome, actual_result, lessons, review_notes } = record
  return (
    <Panel title={t.review} at="review">
      {outcome === null ? (
        <p>{t.due(record.review_by)}</p>
      ) : (
        <Pairs
          rows={[
            [t.outcome, [<Badge of={outcome} />, record.reviewed_by && [' by ', <Agent of={record.reviewed_by} />]]],
            [t.actual, prose(actual_result)],
            [t.nextTime, prose(lessons)],
            [t.notes, prose(review_notes)],
          ]}
        />
      )}
      {mayWrite && !isSaved && (
        <details open={outcome === null}>
          <summary>{outcome === null ? t.start : t.again}</summary>
          <OutcomeForm id={record.id} title={record.decision} proposal={record.proposal} done={() => {}} />
        </details>
      )}
    </Panel>
  )
}
