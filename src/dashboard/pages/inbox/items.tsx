/** The items of the inbox, walked with j and k; r opens the review of the one that has the focus. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ReadyResult, ReviewDecisionResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Act, Choice, Field, Form, type Read, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { To, ToDecision, useView } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge } from '../../ui.tsx'
import { outcomes, sendReview } from '../decision/review.tsx'

const t = texts.inbox
type Action = ReadyResult['actions'][number]

const isReview = ({ type }: Action): boolean => type === 'review_outcome' || type === 'stale_pending'
const keyOf = ({ type, decision_id, category, detail }: Action): string =>
  `${type} ${decision_id ?? detail.scope ?? category} ${detail.other_id ?? ''}`
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** The subject of an item, as a link. */
function Subject({ of: { type, decision_id, title, category, detail } }: { of: Action }) {
  if (type === 'open_breaker')
    return <To path={`/breakers/${encodeURIComponent(String(detail.scope))}`}>{String(detail.scope)}</To>
  if (type === 'calibration_drift')
    return (
      <To path="/calibration" query={{ category }}>
        {category ?? ''}
      </To>
    )
  return decision_id ? <ToDecision id={decision_id}>{title ?? decision_id}</ToDecision> : null
}

export function Items({ actions, reviews }: { actions: Action[]; reviews?: boolean }) {
  const mayReview = useView().edits && reviews === true
  const list = useRef<HTMLOListElement>(null)
  const [open, setOpen] = useState<string | null>(null)
  const [result, show] = useResult()
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, select, textarea')) return
    const items = [...list.current!.children]
    const at = items.findIndex((item) => item.contains(target))
    if (event.key === 'j' || event.key === 'k')
      items[at + (event.key === 'j' ? 1 : -1)]?.querySelector<HTMLElement>('a')?.focus()
    else if (event.key === 'r' && mayReview && actions[at] && isReview(actions[at])) setOpen(keyOf(actions[at]))
    else return
    event.preventDefault()
  }
  return (
    <>
      {result}
      <ol class="plain inbox" ref={list} onKeyDown={onKeyDown}>
        {actions.map((action) => {
          const { type, priority, date, category, reason, suggestion, detail } = action
          const key = keyOf(action)
          return (
            <li key={key}>
              <p>
                <Badge of={t.priorities[priority]} /> <strong>{t.types[type]}</strong> <Subject of={action} />
              </p>
              <p class="quiet">
                {[date, type === 'calibration_drift' || type === 'open_breaker' ? null : category]
                  .filter(Boolean)
                  .map((one) => `${one}. `)}
                {sentence(reason)} {sentence(suggestion)}{' '}
                {type === 'open_breaker' && action.decision_id && (
                  <ToDecision id={action.decision_id}>{t.trial}</ToDecision>
                )}
                {typeof detail.other_id === 'string' && <ToDecision id={detail.other_id}>{t.other}</ToDecision>}
              </p>
              {isReview(action) &&
                mayReview &&
                (open === key ? (
                  <QuickReview
                    id={action.decision_id!}
                    done={(result) => {
                      setOpen(null)
                      show(t.reviewed(action.title ?? action.decision_id!, result))
                      refreshPage()
                    }}
                    cancel={() => setOpen(null)}
                  />
                ) : (
                  <button type="button" onClick={() => setOpen(key)} aria-label={t.reviewOf(action.title ?? '')}>
                    {t.review}
                  </button>
                ))}
            </li>
          )
        })}
      </ol>
    </>
  )
}

function QuickReview({
  id,
  done,
  cancel,
}: {
  id: string
  done: (result: ReviewDecisionResult) => void
  cancel: () => void
}) {
  const { error, busy, run } = useJob<void>()
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => box.current?.querySelector('select')?.focus(), [])
  const submit = (read: Read) => run(async () => done(await sendReview(id, read)))
  return (
    <div ref={box}>
      <Form class="filters" submit={submit} aria-label={t.review}>
        <div class="row">
          <Choice label={t.outcome} name="outcome" value="success" options={outcomes} />
          <Field grow label={t.actual} name="actual_result" />
          <Field grow label={t.lessons} name="lessons" />
          <Act busy={busy} main>
            {t.save}
          </Act>
          <button type="button" onClick={cancel}>
            {t.cancel}
          </button>
        </div>
        {error !== null && <Failure error={error} />}
      </Form>
    </div>
  )
}
