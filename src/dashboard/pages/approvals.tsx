/** Approvals: what waits for a person, everything that an answer needs, and the answer. */
import type { GetApprovalResult } from '../../../sdk/client.ts'
import { Failure, Show, useCall, useJob } from '../call.tsx'
import { percent, time } from '../figures.ts'
import { Act, Choice, Field, Form, type Read, useResult } from '../form.tsx'
import { Precedents } from '../precedents.tsx'
import { goWith, To, ToDecision, ToList, type View } from '../route.tsx'
import { service } from '../service.ts'
import { actionIn } from '../trail.ts'
import { Badge, Empty, Figure, Pairs, Panel, prose, Table, When } from '../ui.tsx'

const states = ['pending', 'approved', 'denied', 'expired', 'consumed'] as const
const pageSize = 50
const before = 10

export function Approvals({ place, session }: View) {
  const asked = place.query.get('state') ?? 'pending'
  const state = states.find((one) => one === asked)
  const loaded = useCall(`approvals ${asked}`, (signal) =>
    service.listApprovals({ limit: pageSize, ...(state && { state }) }, { signal }),
  )
  return (
    <>
      <p>
        A rule with the action step_up lets an agent act only after a person has granted it. Without an answer a request
        is denied.
        {!session.scopes.includes('approve') && ' To decide requests your agent needs the scope approve.'}
      </p>
      <Form class="bar" submit={() => loaded.again()}>
        <Choice
          label="State"
          name="state"
          value={asked}
          options={[...states, ['all', 'all']]}
          onChange={(value) => goWith(place, { state: value })}
        />
        <button type="submit">Reload</button>
      </Form>
      <Show of={loaded}>
        {({ approvals, total }) =>
          approvals.length === 0 ? (
            <Empty>
              {state === 'pending'
                ? 'No request waits for an answer.'
                : state
                  ? `No request is ${state}.`
                  : 'Nothing was requested yet.'}
            </Empty>
          ) : (
            <>
              <Table
                caption="Requests for approval"
                heads={['Request', 'State', 'Agent', 'Action', 'Rules', 'Until'].map((name) => ({ name }))}
                rows={approvals.map((one) => [
                  <To path={`/approvals/${one.id}`}>{one.id}</To>,
                  <Badge of={one.state} />,
                  one.requester,
                  one.action.description,
                  one.rules.map(({ guardrail_id }) => guardrail_id).join(', '),
                  <When at={one.expires_at} />,
                ])}
              />
              {total > approvals.length && (
                <p class="quiet">
                  The newest {approvals.length} of {total}.
                </p>
              )}
            </>
          )
        }
      </Show>
    </>
  )
}

export function Approval({ place, session }: View) {
  const id = decodeURIComponent(place.path.slice('/approvals/'.length))
  const loaded = useCall(id, (signal) => service.getApproval({ id }, { signal }))
  return (
    <>
      <p>
        <ToList path="/approvals">All requests</ToList>
      </p>
      <Show of={loaded}>
        {(one) => (
          <>
            <p class="lead">{one.action.description}</p>
            <dl class="figures">
              <Figure name="State" value={<Badge of={one.state} />} note={`until ${time(one.expires_at)}`} />
              <Figure name="Agent" value={one.requester} note={one.on_behalf_of && `says for ${one.on_behalf_of}`} />
              <Figure name="Stakes" term="stakes" value={one.action.stakes ? <Badge of={one.action.stakes} /> : '–'} />
              <Figure name="Confidence" term="confidence" value={percent(one.action.confidence)} />
            </dl>
            <div class="panels">
              <Panel title="Action" lead="A grant counts for exactly this, secrets aside.">
                <Pairs
                  rows={[
                    ['Category', one.action.category],
                    ['Project', one.action.project],
                    ['Scope', one.action.scope],
                    ['Tags', one.action.tags.join(', ')],
                    ['Context', prose(JSON.stringify(one.action.context, null, 2))],
                    ['Session', one.session],
                    ['Requested', time(one.requested_at)],
                    ['Remembered', one.remember === 'none' ? 'no, one action' : one.remember],
                    ['Digest', <code>{one.request_digest.slice(0, 16)}</code>],
                  ]}
                />
              </Panel>
              <Panel title="Rules" lead={one.approvers.length > 0 && `Decided by ${one.approvers.join(' or ')}.`}>
                {one.rules.map(({ guardrail_id, message, text }) => (
                  <details key={guardrail_id}>
                    <summary>
                      <strong>{guardrail_id}</strong> {message}
                    </summary>
                    <p class="prose">{JSON.stringify(JSON.parse(text), null, 2)}</p>
                  </details>
                ))}
              </Panel>
              <Answer of={one} changed={loaded.again} agent={session.agent} />
              <Before agent={one.requester} admin={session.scopes.includes('admin')} />
              <Precedents text={one.action.description} />
            </div>
          </>
        )}
      </Show>
    </>
  )
}

/** The answer, or the form that gives it. */
function Answer({ of, agent, changed }: { of: GetApprovalResult; agent: string; changed: () => void }) {
  const { error, busy, run } = useJob<void>()
  const [result, show] = useResult()
  const decide = (decision: 'approve' | 'deny') => (read: Read) =>
    run(async () => {
      const reason = read('reason').trim()
      const { state } = await service.decideApproval({ id: of.id, decision, ...(reason && { reason }) })
      show(`This request is ${state}.`)
      changed()
    })
  return (
    <Panel title="Decision">
      {result}
      {of.state !== 'pending' ? (
        <Pairs
          rows={[
            ['State', <Badge of={of.state} />],
            ['Decided by', of.decided_by],
            ['Decided', of.decided_at && time(of.decided_at)],
            ['Reason', prose(of.reason)],
            ['Usable until', of.approved_until && time(of.approved_until)],
            ['Used', of.consumed_at && time(of.consumed_at)],
          ]}
        />
      ) : agent === of.requester ? (
        <p>Your agent requested it, so somebody else decides.</p>
      ) : (
        (['approve', 'deny'] as const).map((decision) => (
          <Form key={decision} submit={decide(decision)} aria-label={decision}>
            <Field label={decision === 'approve' ? 'Why it may go on' : 'Why it must not go on'}>
              <textarea name="reason" rows={2} />
            </Field>
            <Act busy={busy} main={decision === 'approve'}>
              {decision === 'approve' ? 'Approve' : 'Deny'}
            </Act>
          </Form>
        ))
      )}
      {error !== null && <Failure error={error} />}
    </Panel>
  )
}

/** What the agent did before: its calls where the reader may see the trail, else its decisions. */
function Before({ agent, admin }: { agent: string; admin: boolean }) {
  const loaded = useCall(`before ${agent}`, async (signal) => {
    if (admin) {
      const { entries } = await service.listAudit({ agent, limit: before }, { signal })
      return entries.map(({ seq, at, method, allowed, detail }) => ({
        key: String(seq),
        at,
        text: [method.replace('cstp.', ''), actionIn(detail)].filter(Boolean).join(': '),
        state: allowed === null ? null : allowed ? 'allowed' : 'blocked',
        id: null,
      }))
    }
    const { decisions } = await service.listDecisions({ agent, limit: before }, { signal })
    return decisions.map(({ id, created_at, title, outcome }) => ({
      key: id,
      at: created_at,
      text: title,
      state: outcome ?? 'pending',
      id,
    }))
  })
  return (
    <Panel title="What the agent did before" lead={admin ? 'Its last calls.' : 'Its last decisions.'}>
      <Show of={loaded}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>Nothing yet.</Empty>
          ) : (
            <ol class="timeline">
              {rows.map(({ key, at, text, state, id }) => (
                <li key={key}>
                  <p class="quiet">{time(at)}</p>
                  <p>
                    {id ? <ToDecision id={id}>{text}</ToDecision> : text} {state && <Badge of={state} />}
                  </p>
                </li>
              ))}
            </ol>
          )
        }
      </Show>
    </Panel>
  )
}
