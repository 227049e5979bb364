/** The outcome of a decision, and the form that records it. */
import type { GetDecisionResult, Outcome, ReviewDecisionResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Act, Choice, Form, LinesField, type Read, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Pairs, Panel, prose } from '../../ui.tsx'

const t = texts.review

export const outcomes: Outcome[] = ['success', 'partial', 'failure', 'abandoned']
const fields = [
  ['actual_result', t.actual],
  ['lessons', t.lessons],
  ['notes', t.notes],
] as const

/** Records the review in a form: an outcome, and those of the texts that are filled in. @returns which outcome counts */
export async function sendReview(id: string, read: Read): Promise<ReviewDecisionResult> {
  const given = fields.map(([name]) => [name, read(name).trim()]).filter(([, text]) => text !== '')
  return service.reviewDecision({
    decision_id: id,
    outcome: read('outcome') as Outcome,
    ...Object.fromEntries(given),
  })
}

export function Review({ record }: { record: GetDecisionResult }) {
  const mayWrite = useView().edits
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const submit = (read: Read, form: HTMLFormElement) =>
    run(async () => {
      show(t.reviewed(await sendReview(record.id, read)))
      form.reset()
      refreshPage()
    })
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
          <Form submit={submit}>
            <Choice label={t.outcome} name="outcome" value={outcome ?? 'success'} options={outcomes} />
            {fields.map(([name, label]) => (
              <LinesField key={name} label={label} name={name} />
            ))}
            {error !== null && <Failure error={error} />}
            <Act busy={busy} main>
              {t.save}
            </Act>
          </Form>
        </details>
      )}
    </Panel>
  )
}
