/** The form that records what became known of a decision: one button for each outcome, none of them preset. */
import { useRef, useState } from 'preact/hooks'
import type { Outcome, ReviewDecisionResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Act, Field, LinesField } from '../../form.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'

const t = texts.review

export const outcomes: Outcome[] = ['success', 'partial', 'failure', 'abandoned']
const fields = [
  ['actual_result', t.actual],
  ['lessons', t.lessons],
  ['notes', t.notes],
] as const

/** @param short in a row of a list: without notes, texts of one line */
export function OutcomeForm({
  id,
  short,
  done,
}: {
  id: string
  short?: boolean
  done: (result: ReviewDecisionResult) => void
}) {
  const { error, busy, run } = useJob<void>()
  const form = useRef<HTMLFormElement>(null)
  const [asks, setAsks] = useState(false)
  const save = (outcome: Outcome) => {
    const read = (name: string) => String(new FormData(form.current!).get(name) ?? '').trim()
    // A failure without a lesson is saved on the second press only.
    if (outcome === 'failure' && read('lessons') === '' && !asks) {
      setAsks(true)
      form.current!.querySelector<HTMLElement>('[name=lessons]')?.focus()
      return
    }
    const given = fields.map(([name]) => [name, read(name)]).filter(([, text]) => text !== '')
    run(async () => {
      const result = await service.reviewDecision({ decision_id: id, outcome, ...Object.fromEntries(given) })
      form.current?.reset()
      setAsks(false)
      done(result)
    })
  }
  return (
    <form
      ref={form}
      class={short ? 'outcome short' : 'outcome'}
      aria-label={t.review}
      onSubmit={(event) => event.preventDefault()}
    >
      {fields
        .filter(([name]) => !short || name !== 'notes')
        .map(([name, label]) =>
          short ? (
            <Field key={name} grow label={label} name={name} />
          ) : (
            <LinesField key={name} label={label} name={name} />
          ),
        )}
      {asks && (
        <p class="notice warn" role="status">
          {t.lesson}
        </p>
      )}
      {error !== null && <Failure error={error} />}
      <div class="actions" role="group" aria-label={t.outcome}>
        {outcomes.map((outcome) => (
          <Act key={outcome} busy={busy} onClick={() => save(outcome)}>
            {t.outcomes[outcome]}
          </Act>
        ))}
      </div>
    </form>
  )
}
