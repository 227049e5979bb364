/** The items of the inbox, walked with j and k; r opens the review of the one that has the focus. Several are settled or snoozed at once. */
import { type ComponentChildren, Fragment } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { GetBriefingResult, Outcome, ReadyResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Failure, useJob } from '../../call.tsx'
import { Act, Field, Form, type Read, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { To, ToDecision, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { breakerPrefix } from '../../trail.ts'
import { Badge, When } from '../../ui.tsx'
import { useWaits, writeLater } from '../../undo.tsx'
import { Accept, OutcomeForm, outcomes, saveReview } from '../decision/outcome.tsx'
import { snooze, snoozed, wakeAll } from './snooze.ts'

const t = texts.inbox
/** Reviews that Today asks for. */
export const sampleSize = 12
export type Action = ReadyResult['actions'][number]
type Stops = GetBriefingResult['stops']

export const isReview = ({ type }: Action): boolean => type === 'review_outcome' || type === 'stale_pending'
/** A due review, or the trial of a breaker: its review closes the breaker or opens it again. */
const asksReview = (of: Action): boolean => isReview(of) || (of.type === 'open_breaker' && of.decision_id !== null)
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

/** Why an item waits, with links to what its words name. */
function Facts({
  of: { type, decision_id, category, reason, suggestion, detail, proposal },
  stops,
}: {
  of: Action
  stops: Stops
}) {
  const { scope, recorded_by, other_id, other_title } = detail as Record<string, string>
  const facts = (...parts: ComponentChildren[]) => <p class="quiet">{parts}</p>
  if (type === 'calibration_drift')
    return facts(
      `${sentence(reason)} `,
      <To path="/decisions" query={{ category, outcome: 'failure' }}>
        {sentence(suggestion)}
      </To>,
    )
  if (type === 'contradiction') {
    const [before, after] = reason.split(`"${other_title}"`)
    return facts(
      category && `${category} · `,
      before,
      <ToDecision id={other_id!}>{other_title}</ToDecision>,
      sentence(after!),
    )
  }
  // What the button beside it does needs no words.
  if (type !== 'open_breaker')
    return facts(
      <Agent of={recorded_by!} />,
      category && !proposal && ` · ${category}`,
      ` · ${proposal ? texts.review.proposed(proposal.reason) : sentence(reason)}`,
    )
  return facts(
    `${sentence(reason)} ${sentence(suggestion)} `,
    stops
      .filter(({ rule }) => rule === breakerPrefix + scope)
      .map(({ agent, count, last_at, last_seq }) => (
        <Fragment key={agent}>
          <To path={`/blocks/${last_seq}`}>{texts.today.stopped(agent, count)}</To>, <When at={last_at} />.{' '}
        </Fragment>
      )),
    decision_id && <ToDecision id={decision_id}>{t.trial}</ToDecision>,
  )
}

/** A contradiction is settled where it is shown: both hold, or this one does. */
function Settle({ of: { decision_id, title, detail }, done }: { of: Action; done: (text: string) => void }) {
  const { error, busy, run } = useJob<void>()
  const [first, other] = [decision_id!, String(detail.other_id)]
  const settle = (work: () => Promise<unknown>, said: string) => () =>
    run(async () => {
      await work()
      done(said)
    })
  const bothHold = async () => {
    const ends = { edge_type: 'contradicts', reason: t.bothHold } as const
    const { removed } = await service.unlinkDecisions({ ...ends, source_id: first, target_id: other })
    if (!removed) await service.unlinkDecisions({ ...ends, source_id: other, target_id: first })
  }
  const thisHolds = () =>
    service.linkDecisions({ source_id: first, target_id: other, edge_type: 'supersedes', context: t.thisHolds })
  return (
    <div class="actions">
      <Act busy={busy} onClick={settle(bothHold, t.settled(title ?? first, t.bothHold))}>
        {t.bothHold}
      </Act>
      <Act busy={busy} onClick={settle(thisHolds, t.settled(title ?? first, t.thisHolds))}>
        {t.thisHolds}
      </Act>
      {error !== null && <Failure error={error} />}
    </div>
  )
}

/** A finding of drift is closed with a reason, which the trail keeps. */
function Dismiss({ of: category, done }: { of: string; done: (text: string) => void }) {
  const { error, busy, run } = useJob<void>()
  const close = (read: Read) =>
    run(async () => done((await service.closeDrift({ category, reason: read('reason').trim() })).message))
  return (
    <details>
      <summary>{t.dismiss}</summary>
      <Form class="bar" submit={close} aria-label={t.dismissOf(category)}>
        <Field grow label={t.whyDismiss} name="reason" required pattern=".*\S.*" maxLength={2_000} />
        <Act busy={busy}>{t.dismissNow}</Act>
      </Form>
      {error !== null && <Failure error={error} />}
    </details>
  )
}

/** What is done with all chosen items at once. */
function Bulk({ chosen, done }: { chosen: readonly Action[]; done: (text: string) => void }) {
  const mayReview = useView().edits
  const reviews = chosen.filter(isReview)
  const review = (outcome: Outcome) => () => {
    writeLater({
      text: t.reviewedAll(reviews.length, outcome),
      of: '',
      async send() {
        const calls = reviews.map(({ decision_id }) => ({
          method: 'reviewDecision' as const,
          params: { decision_id: decision_id!, outcome },
        }))
        const answers = await service.batch(calls)
        const failed = answers.find((answer) => !answer.ok)
        if (failed && !failed.ok) throw failed.error
        return t.reviewedAll(answers.length, outcome)
      },
      undone: () => {},
    })
    done('')
  }
  return (
    <div class="actions bulk" role="group" aria-label={t.chosen(chosen.length)}>
      <span>{t.chosen(chosen.length)}</span>
      <button
        type="button"
        onClick={() => {
          snooze(chosen.map(keyOf))
          done(t.snoozedSome(chosen.length))
        }}
      >
        {t.snooze}
      </button>
      {mayReview &&
        reviews.length > 0 &&
        // A failure asks for its own lesson.
        outcomes
          .filter((outcome) => outcome !== 'failure')
          .map((outcome) => (
            <button key={outcome} type="button" onClick={review(outcome)}>
              {t.reviewAs(texts.review.outcomes[outcome])}
            </button>
          ))}
    </div>
  )
}

/** @param stops whom breakers stopped */
export function Items({ actions, stops = [] }: { actions: Action[]; stops?: Stops }) {
  const { edits: mayReview, may } = useView()
  const list = useRef<HTMLOListElement>(null)
  const [open, setOpen] = useState<string | null>(null)
  const [asked, setAsked] = useState(false)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [asleep, setAsleep] = useState(snoozed)
  const [result, show] = useResult()
  const waits = useWaits()
  const awake = actions.filter((action) => asleep[keyOf(action)] === undefined)
  const shown = awake.filter(({ decision_id }) => decision_id === null || !waits(decision_id))
  const hidden = actions.length - awake.length
  // Due reviews alone need not be named as such one by one.
  const isQueue = actions.every(isReview)
  const picked = shown.filter((action) => chosen.has(keyOf(action)))
  const done = (text: string) => {
    setOpen(null)
    setChosen(new Set())
    setAsleep(snoozed())
    if (text === '') return
    show(text)
    void refreshPage()
  }
  const turn = (key: string) =>
    setChosen((before) =>
      before.has(key) ? new Set([...before].filter((one) => one !== key)) : new Set([...before, key]),
    )
  const review = (key: string | null, lesson = false) => {
    setAsked(lesson)
    setOpen(key)
  }
  /** Takes what evidence proposes; a failure is asked for its lesson first. */
  const accept = (of: Action) => (outcome: Outcome, notes: string) =>
    outcome === 'failure'
      ? review(keyOf(of), true)
      : saveReview({ id: of.decision_id!, title: of.title ?? t.trial, outcome }, { notes })
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input:not([type=checkbox]), textarea')) return
    const items = [...list.current!.children]
    const at = items.findIndex((item) => item.contains(target))
    if (event.key === 'j' || event.key === 'k')
      items[at + (event.key === 'j' ? 1 : -1)]?.querySelector<HTMLElement>('a')?.focus()
    else if (event.key === 'r' && mayReview && shown[at] && asksReview(shown[at])) review(keyOf(shown[at]))
    else if (event.key === 'a' && mayReview && shown[at]?.proposal?.outcome)
      accept(shown[at])(shown[at].proposal.outcome, texts.review.proposed(shown[at].proposal.reason))
    else return
    event.preventDefault()
  }
  return (
    <>
      {result}
      <ol class="plain inbox" ref={list} onKeyDown={onKeyDown}>
        {shown.map((action) => {
          const { type, priority, category, detail } = action
          const key = keyOf(action)
          return (
            <li key={key} class={isReview(action) ? 'short' : ''}>
              <input
                type="checkbox"
                checked={chosen.has(key)}
                onChange={() => turn(key)}
                aria-label={t.choose(action.title ?? String(detail.scope ?? category ?? ''))}
              />
              <p>
                <Badge of={t.priorities[priority]} /> {!isQueue && <strong>{t.types[type]}</strong>}{' '}
                <Subject of={action} />
              </p>
              <Facts of={action} stops={stops} />
              {type === 'contradiction' && mayReview && <Settle of={action} done={done} />}
              {asksReview(action) &&
                mayReview &&
                (open === key ? (
                  <OutcomeForm
                    id={action.decision_id!}
                    title={action.title ?? t.trial}
                    proposal={action.proposal}
                    asked={asked}
                    done={() => review(null)}
                    undone={() => review(key)}
                    cancel={() => review(null)}
                  />
                ) : (
                  <div class="actions">
                    <Accept of={action.proposal} accept={accept(action)} />
                    <button type="button" onClick={() => review(key)} aria-label={t.reviewOf(action.title ?? t.trial)}>
                      {t.review}
                    </button>
                  </div>
                ))}
              {type === 'calibration_drift' && may('curate') && <Dismiss of={category!} done={done} />}
            </li>
          )
        })}
      </ol>
      {picked.length > 0 && <Bulk chosen={picked} done={done} />}
      {hidden > 0 && (
        <p class="quiet">
          {t.asleep(hidden)}{' '}
          <button
            type="button"
            onClick={() => {
              wakeAll()
              setAsleep({})
            }}
          >
            {t.wake}
          </button>
        </p>
      )}
    </>
  )
}
