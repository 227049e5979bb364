/** The form that records what became known of a decision: one button for each outcome, none of them preset. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { GetDecisionResult, Outcome } from '../../../../sdk/client.ts'
import { Field, LinesField } from '../../form.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { writeLater } from '../../undo.tsx'

const t = texts.review

export const outcomes: Outcome[] = ['success', 'partial', 'failure', 'abandoned']
const fields = [
  ['actual_result', t.actual],
  ['lessons', t.lessons],
  ['notes', t.notes],
] as const
/** What was typed of each decision whose review is not saved yet. */
const typed = new Map<string, Record<string, string>>()

export type Proposal = GetDecisionResult['proposal']

/** Saves a review, unless it is taken back in time. */
export function saveReview(
  { id, title, outcome }: { id: string; title: string; outcome: Outcome },
  given: Record<string, string>,
  undone?: () => void,
): void {
  writeLater({
    text: t.saved(title, t.outcomes[outcome]),
    of: id,
    async send() {
      const result = await service.reviewDecision({ decision_id: id, outcome, ...given })
      typed.delete(id)
      return t.reviewed(result)
    },
    undone: () => undone?.(),
  })
}

/** The button that takes what evidence proposes, which becomes the note of the review. */
export const Accept = ({ of, accept }: { of: Proposal; accept: (outcome: Outcome, notes: string) => void }) => {
  if (!of?.outcome) return null
  const { outcome, reason } = of
  return (
    <button type="button" title={t.proposed(reason)} onClick={() => accept(outcome, t.proposed(reason))}>
      {t.accept(t.outcomes[outcome])}
    </button>
  )
}

/**
 * @param proposal what evidence says
 * @param asked whether its lesson is asked for, as a failure was accepted
 * @param done once the review waits to be saved
 * @param undone if it was taken back
 * @param cancel closes the form, which was opened in a row of a list: it has no notes and takes the focus
 */
export function OutcomeForm({
  id,
  title,
  proposal,
  asked = false,
  done,
  undone,
  cancel,
}: {
  id: string
  title: string
  proposal?: Proposal
  asked?: boolean
  done: () => void
  undone?: () => void
  cancel?: () => void
}) {
  const form = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => {
    if (cancel) form.current?.querySelector<HTMLElement>(asked ? '[name=lessons]' : 'input')?.focus()
  }, [])
  const [asks, setAsks] = useState(asked)
  const before = typed.get(id)
  const save = (outcome: Outcome, notes?: string) => {
    const read = (name: string) => String(new FormData(form.current!).get(name) ?? '').trim()
    // A failure without a lesson is saved on the second press only.
    if (outcome === 'failure' && read('lessons') === '' && !asks) {
      setAsks(true)
      form.current!.querySelector<HTMLElement>('[name=lessons]')?.focus()
      return
    }
    const texts = [...fields.map(([name]) => [name, read(name)] as const)].filter(([, text]) => text !== '')
    const given = Object.fromEntries([...(notes ? [['notes', notes] as const] : []), ...texts])
    typed.set(id, given)
    saveReview({ id, title, outcome }, given, undone)
    setAsks(false)
    done()
  }
  return (
    <form
      ref={form}
      class={cancel ? 'outcome short filters' : 'outcome'}
      aria-label={t.review}
      onSubmit={(event) => event.preventDefault()}
    >
      {proposal && !cancel && <p>{t.proposed(proposal.reason)}</p>}
      {fields
        .filter(([name]) => !cancel || name !== 'notes')
        .map(([name, label]) =>
          cancel ? (
            <Field key={name} grow label={label} name={name} defaultValue={before?.[name]} />
          ) : (
            <LinesField key={name} label={label} name={name} defaultValue={before?.[name]} />
          ),
        )}
      {asks && (
        <p class="notice warn" role="status">
          {t.lesson}
        </p>
      )}
      <div class="actions" role="group" aria-label={t.outcome}>
        <Accept of={proposal} accept={save} />
        {outcomes.map((outcome) => (
          <button key={outcome} type="button" onClick={() => save(outcome)}>
            {t.outcomes[outcome]}
          </button>
        ))}
        {cancel && (
          <button type="button" onClick={cancel}>
            {t.cancel}
          </button>
        )}
      </div>
    </form>
  )
}
