/** One circuit breaker: the failures that opened it, the actions blocked since, when it lets one through, and its reset with a reason. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { GetCircuitStateResult } from '../../../sdk/client.ts'
import { Agent } from '../agent.tsx'
import { Failure, Show, useCall, useJob } from '../call.tsx'
import { none, span, whole } from '../figures.ts'
import { Act, Field, Form, type Read, useResult } from '../form.tsx'
import { refreshPage } from '../fresh.tsx'
import { To, ToDecision, useView, type View } from '../route.tsx'
import { service } from '../service.ts'
import { texts } from '../texts.ts'
import { actionIn, breakerPrefix } from '../trail.ts'
import { Badge, Empty, Figure, List, Panel, Table, When } from '../ui.tsx'

const t = texts.breakers
export type State = GetCircuitStateResult

/** A span that counts down, second by second. */
function Countdown({ ms }: { ms: number }) {
  const [until, setUntil] = useState(() => performance.now() + ms)
  const [now, setNow] = useState(() => performance.now())
  useEffect(() => setUntil(performance.now() + ms), [ms])
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const left = Math.max(0, Math.ceil((until - now) / 1_000))
  const parts = [Math.floor(left / 3_600), Math.floor(left / 60) % 60, left % 60].map((one) =>
    String(one).padStart(2, '0'),
  )
  return <span class="countdown">{parts.join(':')}</span>
}

/** The next step of a breaker. */
export const Next = ({ of }: { of: State }): ComponentChildren =>
  of.state === 'closed'
    ? none
    : of.probe_decision_id
      ? t.waits((text) => <ToDecision id={of.probe_decision_id!}>{text}</ToDecision>)
      : of.cooldown_remaining_ms > 0
        ? t.oneIn(<Countdown ms={of.cooldown_remaining_ms} />)
        : t.oneNow

async function load(scope: string, trail: View['trail'], signal: AbortSignal) {
  const state = await service.getCircuitState({ scope }, { signal })
  const failures = await service.batch(
    state.opened_by.map(({ decision_id: id }) => ({ method: 'getDecision' as const, params: { id } })),
    { signal },
  )
  const blocked =
    state.opened_at !== null
      ? await service.listAudit(
          { rule: breakerPrefix + scope, allowed: false, since: state.opened_at, limit: 50, ...trail },
          { signal },
        )
      : null
  return {
    state,
    failures: state.opened_by.map((one, at) => {
      const found = failures[at]
      return { ...one, record: found?.ok ? found.result : null }
    }),
    blocked,
  }
}

export function Breaker() {
  const { id: scope, trail } = useView()
  const loaded = useCall(`breaker ${scope}`, (signal) => load(scope, trail, signal))
  return (
    <>
      <p class="screen">
        <To path="/breakers">{t.all}</To>
      </p>
      <Show of={loaded}>
        {({ state, failures, blocked }) => (
          <>
            <p class="lead">{t.headline[state.state](scope)}</p>
            <dl class="figures">
              <Figure
                name={t.heads.state}
                value={<Badge of={state.state} />}
                note={state.opened_at && t.since(<When at={state.opened_at} />)}
              />
              <Figure
                name={t.heads.failures}
                value={t.of(whole(state.failure_count), whole(state.failure_threshold))}
                note={t.within(span(state.window_ms / 1_000))}
              />
              <Figure name={t.heads.next} value={<Next of={state} />} />
            </dl>
            {blocked && (
              <Panel title={t.opened}>
                <List of={failures} empty={t.byHand}>
                  {({ decision_id, reviewed_at, record }) => (
                    <>
                      <p>
                        <ToDecision id={decision_id}>{record?.title ?? decision_id}</ToDecision>
                      </p>
                      <p class="quiet">
                        {t.failed(record?.recorded_by ?? '', <When at={reviewed_at} />)} {record?.actual_result}
                      </p>
                      {record?.lessons && <p>{t.lesson(record.lessons)}</p>}
                    </>
                  )}
                </List>
              </Panel>
            )}
            <Reset of={state} />
            {blocked && (
              <Panel title={t.blocked} lead={trail.agent !== undefined && t.ownOnly(trail.agent)}>
                <Table
                  caption={t.blocked}
                  empty={t.blockedNothing}
                  heads={t.blockedHeads}
                  rows={blocked.entries.map(({ seq, at, agent, method, detail }) => [
                    <To path={`/blocks/${seq}`}>{actionIn(detail) || method}</To>,
                    <Agent of={agent} />,
                    <When at={at} />,
                  ])}
                />
              </Panel>
            )}
          </>
        )}
      </Show>
    </>
  )
}

/** The form that closes the breaker or lets one decision through; the trail records the reason. */
function Reset({ of }: { of: State }) {
  const { may } = useView()
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const reset = (probe_first: boolean) => (read: Read, form: HTMLFormElement) =>
    run(async () => {
      const { message } = await service.resetCircuit({ scope: of.scope, probe_first, reason: read('reason').trim() })
      show(message)
      form.reset()
      refreshPage()
    })
  if (of.state === 'closed') return result
  return (
    <Panel title={t.reset}>
      {result}
      {!may('admin') ? (
        <Empty>{t.needsAdmin}</Empty>
      ) : (
        ([true, false] as const).map((probe) => (
          <Form key={String(probe)} submit={reset(probe)} aria-label={probe ? t.allowOne : t.close}>
            <Field label={probe ? t.whyTrial : t.whyClose} name="reason" required pattern=".*\S.*" maxLength={2_000} />
            <Act busy={busy} main={probe}>
              {probe ? t.allowOne : t.close}
            </Act>
          </Form>
        ))
      )}
      {error !== null && <Failure error={error} />}
    </Panel>
  )
}
