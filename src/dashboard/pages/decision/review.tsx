/** What became of a decision, and the form that says so. */
import { useRef, useState } from 'preact/hooks'
import type { GetDecisionResult, Outcome } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { service } from '../../service.ts'
import { Act, Badge, Choice, Panel, Told } from '../../ui.tsx'

const outcomeValues: Outcome[] = ['success', 'partial', 'failure', 'abandoned']
const texts = [
  ['actual_result', 'What happened'],
  ['lessons', 'What to do otherwise next time'],
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
  const form = useRef<HTMLFormElement>(null)
  const { error, busy, run } = useJob<void>()
  const [note, setNote] = useState<{ text: string; at: number } | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    const data = new FormData(form.current!)
    const said = texts.map(([name]) => [name, String(data.get(name)).trim()]).filter(([, text]) => text !== '')
    run(async () => {
      const { outcome } = await service.reviewDecision({
        decision_id: record.id,
        outcome: data.get('outcome') as Outcome,
        ...Object.fromEntries(said),
      })
      setNote((before) => ({ text: `Reviewed: ${outcome}.`, at: (before?.at ?? 0) + 1 }))
      form.current?.reset()
      changed()
    })
  }
  const { outcome, actual_result, lessons, review_notes } = record
  return (
    <Panel title="Review">
      {outcome === null ? (
        <p>Not reviewed yet; due {record.review_by}.</p>
      ) : (
        <dl class="pairs">
          <dt>Outcome</dt>
          <dd>
            <Badge of={outcome} /> {record.reviewed_by && `by ${record.reviewed_by}`}
          </dd>
          {(
            [
              ['What happened', actual_result],
              ['Next time', lessons],
              ['Notes', review_notes],
            ] as const
          ).map(([name, text]) =>
            text ? (
              <>
                <dt>{name}</dt>
                <dd class="prose">{text}</dd>
              </>
            ) : null,
          )}
        </dl>
      )}
      {note && <Told key={note.at}>{note.text}</Told>}
      {mayWrite && (
        <details open={outcome === null}>
          <summary>{outcome === null ? 'Review it' : 'Review it again'}</summary>
          <form ref={form} onSubmit={submit}>
            <Choice
              label="Outcome"
              name="outcome"
              value={outcome ?? 'success'}
              options={outcomeValues.map((value) => [value, value] as const)}
            />
            {texts.map(([name, label]) => (
              <label class="field" key={name}>
                <span>{label}</span>
                <textarea name={name} rows={2} />
              </label>
            ))}
            {error !== null && <Failure error={error} />}
            <Act busy={busy} main>
              Save the review
            </Act>
          </form>
        </details>
      )}
    </Panel>
  )
}
