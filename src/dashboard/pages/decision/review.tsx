/** The outcome of a decision, and the form that records it. */
import type { GetDecisionResult, Outcome } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Act, Choice, Field, Form, type Read, useResult } from '../../form.tsx'
import { service } from '../../service.ts'
import { Badge, Pairs, Panel, prose } from '../../ui.tsx'

const outcomes: Outcome[] = ['success', 'partial', 'failure', 'abandoned']
const texts = [
  ['actual_result', 'What happened'],
  ['lessons', 'What to do differently next time'],
  ['notes', 'Notes'],
] as const

export function Review({
  record,
  mayWrite,
  changed,
}: {
  record: GetDecisionResult
  mayWrite: boolean
  changed: () => void
}) {
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const submit = (read: Read, form: HTMLFormElement) =>
    run(async () => {
      const given = texts.map(([name]) => [name, read(name).trim()]).filter(([, text]) => text !== '')
      const { outcome } = await service.reviewDecision({
        decision_id: record.id,
        outcome: read('outcome') as Outcome,
        ...Object.fromEntries(given),
      })
      show(`Reviewed: ${outcome}.`)
      form.reset()
      changed()
    })
  const { outcome, actual_result, lessons, review_notes } = record
  return (
    <Panel title="Review" at="review">
      {outcome === null ? (
        <p>Not reviewed yet; due {record.review_by}.</p>
      ) : (
        <Pairs
          rows={[
            ['Outcome', [<Badge of={outcome} />, record.reviewed_by && ` by ${record.reviewed_by}`]],
            ['What happened', prose(actual_result)],
            ['Next time', prose(lessons)],
            ['Notes', prose(review_notes)],
          ]}
        />
      )}
      {result}
      {mayWrite && (
        <details open={outcome === null}>
          <summary>{outcome === null ? 'Review this decision' : 'Review it again'}</summary>
          <Form submit={submit}>
            <Choice label="Outcome" name="outcome" value={outcome ?? 'success'} options={outcomes} />
            {texts.map(([name, label]) => (
              <Field key={name} label={label}>
                <textarea name={name} rows={2} />
              </Field>
            ))}
            {error !== null && <Failure error={error} />}
            <Act busy={busy} main>
              Save the review
            </Act>
          </Form>
        </details>
      )}
    </Panel>
  )
}
