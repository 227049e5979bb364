/** The outcome of a decision, what its evidence proposes, and the form that records it. */
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { useCall } from '../../call.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Pairs, Panel, prose } from '../../ui.tsx'
import { useWaits } from '../../undo.tsx'
import { OutcomeForm } from './outcome.tsx'

const t = texts.review
/** A merged pull request that nobody reverted for so long is taken for a success. */
const stableDays = 14

/** What the pull request of a decision says about its outcome. */
function Proposed({ of: { id, project, created_at } }: { of: GetDecisionResult }) {
  const { data } = useCall(`proposed ${id}`, async (signal) => {
    if (!project?.name || project.pr === null) return null
    const asked = { project: project.name, since: created_at, stability_days: stableDays, dry_run: true }
    // Who may not ask sees the buttons only.
    const answer = await service.attributeOutcomes(asked, { signal }).catch(() => null)
    return answer?.decisions.find((one) => one.id === id) ?? null
  })
  return data && <p>{data.outcome ? t.proposed(data.reason, t.outcomes[data.outcome]) : t.open(data.reason)}</p>
}

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
          {outcome === null && <Proposed of={record} />}
          <OutcomeForm id={record.id} title={record.decision} done={() => {}} />
        </details>
      )}
    </Panel>
  )
}
