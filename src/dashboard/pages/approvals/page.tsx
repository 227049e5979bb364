/** One approval: everything needed to answer the request, and the answer. */

import { useEffect, useRef } from 'preact/hooks'
import type { GetApprovalResult, Stakes } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { bounded } from '../../bounded.tsx'
import { Failure, Show, useCall, useJob } from '../../call.tsx'
import { percent } from '../../figures.ts'
import { Act, LinesField, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { Precedents, sumsOf } from '../../precedents.tsx'
import { addressOf, go, To, ToDecision, ToList, useTitle, useView } from '../../route.tsx'
import { loginAtIssuer, service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { actionIn } from '../../trail.ts'
import { Badge, Pairs, Panel, prose, Timeline, When } from '../../ui.tsx'
import { verdictSentence } from '../../verdict.ts'
import { ruleText, yamlOf } from '../../yaml.ts'
import { bySoonest } from './list.tsx'

const t = texts.approvals
type Decided = 'approve' | 'deny'

/** The way to the issuer and back to this page, for a login as the rule wants it. */
function loginFor(path: string, { max_age_s, acr }: NonNullable<GetApprovalResult['authentication']>): string {
  const query = new URLSearchParams({ return: location.pathname + location.search })
  if (max_age_s !== null) query.set('max_age', String(max_age_s))
  if (acr !== null) query.set('acr', acr.join(' '))
  return `${path}?${query}`
}

/** Earlier activity that is shown. */
const before = 10

export function Approval() {
  const { id } = useView()
  const loaded = useCall(id, (signal) => service.getApproval({ id }, { signal }))
  useTitle(loaded.data?.action.description)
  return (
    <Show of={loaded}>
      {(one) => (
        <>
          <p class="status">
            <span>
              <Badge of={one.state} /> {one.state === 'pending' && t.expires(<When at={one.expires_at} />)}
            </span>
            <span>
              <Agent of={one.requester} />
              {one.on_behalf_of && `, ${t.onBehalfOf(one.on_behalf_of)}`}
            </span>
            {one.action.stakes && (
              <span>
                <Badge of={one.action.stakes} /> {t.stakesSaid(percent(one.action.confidence))}
              </span>
            )}
            <code>{one.id}</code>
            <ToList path="/approvals">{t.all}</ToList>
          </p>
          {one.action.stakes && <Standing agent={one.requester} stakes={one.action.stakes as Stakes} />}
          <Panel title={t.action} lead={t.exactly}>
            <Pairs
              rows={[
                [t.category, one.action.category],
                [t.project, one.action.project],
                [t.pr, one.action.pr ?? null],
                [t.scope, one.action.scope],
                [t.tags, bounded(one.action.tags.join(', '))],
                [t.context, Object.keys(one.action.context).length > 0 && bounded(yamlOf(one.action.context))],
                [t.changed, one.changes?.length ? bounded(yamlOf(one.changes)) : null],
                [t.notShown, bounded(one.not_shown?.join('\n'))],
                [t.session, one.session],
                [
                  t.requested,
                  <>
                    <When at={one.requested_at} />, {t.digest} <code>{one.request_digest.slice(0, 16)}</code>
                  </>,
                ],
                [t.remembered, one.remember !== 'none' && one.remember],
              ]}
            />
          </Panel>
          <Rules of={one} />
          <Answer of={one} />
          {one.earlier_denials && one.earlier_denials.length > 0 && (
            <Panel title={t.deniedBefore} lead={t.deniedBeforeLead}>
              <Timeline
                empty={t.nothing}
                of={one.earlier_denials.map(({ id: denied, description, decided_by, decided_at, reason }) => ({
                  head: (
                    <>
                      <When at={decided_at} />, {decided_by}
                    </>
                  ),
                  body: (
                    <p>
                      <To path={`/approvals/${denied}`}>{description}</To>
                      {reason && `: ${reason}`}
                    </p>
                  ),
                }))}
              />
            </Panel>
          )}
          <Before agent={one.requester} />
          <Precedents text={one.action.description} />
        </>
      )}
    </Show>
  )
}

/** The latest requests among which like ones are counted. */
const looked = 200

/** The rules that ask, in words and as they were, and how the agent's other requests for them ended. */
function Rules({ of: { id, requester, rules, approvers, policy_hash } }: { of: GetApprovalResult }) {
  const policy = useCall(policy_hash, (signal) => service.getPolicy({ policy_hash }, { signal })).data
  const asks = (one: Pick<GetApprovalResult, 'rules'>) => one.rules.map(({ guardrail_id }) => guardrail_id).join()
  const like = useCall(`like ${id}`, async (signal) => {
    const { approvals } = await service.listApprovals({ limit: looked }, { signal })
    return approvals.filter((one) => one.id !== id && one.requester === requester && asks(one) === asks({ rules }))
  }).data
  return (
    <Panel title={t.rules} lead={approvers.length > 0 && t.decidedBy(approvers)}>
      {rules.map(({ guardrail_id: id, message, text }) => (
        <details key={id}>
          <summary>
            <strong>{id}</strong> {message}
            {policy?.applies[id] && `. ${texts.block.applies} ${policy.applies[id]}`}
          </summary>
          <pre tabIndex={0}>{yamlOf(ruleText(JSON.parse(text)))}</pre>
        </details>
      ))}
      {like && like.length > 0 && <p>{t.like(requester, sumsOf(like.map(({ state }) => state)))}</p>}
    </Panel>
  )
}

/** What the agent's confidence at these stakes is worth. */
function Standing({ agent, stakes }: { agent: string; stakes: Stakes }) {
  const { data } = useCall(`standing ${agent} ${stakes}`, (signal) =>
    service.getCalibration({ agent, stakes, window: 'all' }, { signal }),
  )
  return data && <p>{verdictSentence(data, { agent, stakes })}</p>
}

/** The answer, or the form that gives it. */
function Answer({ of }: { of: GetApprovalResult }) {
  const { may, session } = useView()
  const { agent } = session
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const issuer = loginAtIssuer()
  const box = useRef<HTMLDivElement>(null)
  const isOpen = of.state === 'pending' && agent !== of.requester && may('approve')
  /** A denial always has a reason, a grant at critical stakes too. */
  const needsReason = (decision: Decided): boolean => decision === 'deny' || of.action.stakes === 'critical'
  const field = () => box.current?.querySelector('textarea')
  /** @param goOn whether the next request is shown afterwards, as for an answer by key */
  const decide = (decision: Decided, goOn = false) => {
    const reason = field()?.value.trim() ?? ''
    if (needsReason(decision) && reason === '') return field()?.focus()
    run(async () => {
      const { state } = await service.decideApproval({ id: of.id, decision, ...(reason && { reason }) })
      show(goOn ? t.settledOne(of.action.description, state) : t.isSettled(state))
      if (goOn) await next()
      else void refreshPage()
    })
  }
  /** The request after this one that expires next, if any waits. */
  const next = () =>
    service.listApprovals({ state: 'pending', limit: 100 }).then(({ approvals }) => {
      const open = approvals.filter(({ id, requester }) => id !== of.id && requester !== agent).sort(bySoonest)
      const later = open.find(({ expires_at }) => expires_at >= of.expires_at) ?? open[0]
      go(addressOf(later ? `/approvals/${later.id}` : '/approvals'))
    })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select, dialog')
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === 'j') void next()
      else if (event.key === 'a' && isOpen) decide('approve', true)
      else if (event.key === 'd' && isOpen) decide('deny', true)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
  return (
    <Panel title={t.decision}>
      {result}
      {of.state !== 'pending' ? (
        <Pairs
          rows={[
            [t.state, <Badge of={of.state} />],
            [t.settledBy, of.decided_by],
            [t.decided, of.decided_at && <When at={of.decided_at} />],
            [t.reason, prose(of.reason)],
            [t.usableUntil, of.approved_until && <When at={of.approved_until} />],
            [t.used, of.consumed_at && <When at={of.consumed_at} />],
          ]}
        />
      ) : !isOpen ? (
        <p>{agent === of.requester ? t.own : t.notYou}</p>
      ) : (
        <div ref={box} key={of.id}>
          <p class="quiet screen">{t.keys}</p>
          {of.authentication && issuer !== null && (
            <p>
              <a href={loginFor(issuer, of.authentication)}>{t.freshLogin}</a>
            </p>
          )}
          <LinesField label={t.why} name="reason" />
        </div>
      )}
      <p class="actions">
        {isOpen && (
          <>
            <Act busy={busy} main onClick={() => decide('approve')}>
              {t.grant}
            </Act>
            <Act busy={busy} onClick={() => decide('deny')}>
              {t.deny}
            </Act>
          </>
        )}
        <button type="button" onClick={() => void next()}>
          {t.next}
        </button>
      </p>
      {error !== null && <Failure error={error} />}
    </Panel>
  )
}

/** The agent's earlier activity: its calls if the reader may see the trail, else its decisions. */
function Before({ agent }: { agent: string }) {
  const admin = useView().seesAll
  const loaded = useCall(`before ${agent}`, async (signal) => {
    if (admin) {
      const { entries } = await service.listAudit({ agent, limit: before }, { signal })
      return entries.map(({ at, method, allowed, detail }) => ({
        at,
        text: [method.replace('cstp.', ''), actionIn(detail)].filter(Boolean).join(': '),
        state: allowed === null ? null : allowed ? 'allowed' : 'blocked',
        id: null,
      }))
    }
    const { decisions } = await service.listDecisions({ agent, limit: before }, { signal })
    return decisions.map(({ id, created_at, title, outcome }) => ({
      at: created_at,
      text: title,
      state: outcome ?? 'pending',
      id,
    }))
  })
  return (
    <Panel title={t.before} lead={admin ? t.lastCalls : t.lastDecisions}>
      <Show of={loaded}>
        {(rows) => (
          <Timeline
            empty={t.nothing}
            of={rows.map(({ at, text, state, id }) => ({
              head: <When at={at} />,
              body: (
                <p>
                  {id ? <ToDecision id={id}>{text}</ToDecision> : text} {state && <Badge of={state} />}
                </p>
              ),
            }))}
          />
        )}
      </Show>
    </Panel>
  )
}
