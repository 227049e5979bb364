/** Requests for approval, pending ones first. */
import type { ListApprovalsResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { allRows, Csv } from '../../csv.tsx'
import { PlaceChoice } from '../../form.tsx'
import { To, useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'
import { Badge, Table, When } from '../../ui.tsx'

const t = texts.approvals
const states = ['pending', 'approved', 'denied', 'expired', 'consumed'] as const
const pageSize = 50
/** Most requests of one call. */
const mostRows = 500

const fields = [
  'id',
  'state',
  'requester',
  ['action', ({ action }: Listed) => action.description],
  ['stakes', ({ action }: Listed) => action.stakes],
  ['rules', ({ rules }: Listed) => rules.map(({ guardrail_id }) => guardrail_id)],
  'requested_at',
  'expires_at',
  'decided_by',
  'decided_at',
  'reason',
] as const
type Listed = ListApprovalsResult['approvals'][number]

/** Every request in the state, not only those that are shown. */
const csvRows = (state: (typeof states)[number] | undefined) =>
  allRows(async (from) => {
    const asked = { ...(state && { state }), limit: mostRows, offset: from }
    const { approvals } = await service.listApprovals(asked)
    return { rows: approvals, next: approvals.length === mostRows ? from + mostRows : null }
  })

/** What expires first comes first. */
export const bySoonest = (a: Pick<Listed, 'expires_at'>, b: Pick<Listed, 'expires_at'>): number =>
  a.expires_at < b.expires_at ? -1 : 1

export function Approvals() {
  const { place, may } = useView()
  const asked = place.query.get('state') ?? 'pending'
  const state = states.find((one) => one === asked)
  const loaded = useCall(`approvals ${asked}`, (signal) =>
    service.listApprovals({ limit: state === 'pending' ? mostRows : pageSize, ...(state && { state }) }, { signal }),
  )
  return (
    <>
      <p>
        {t.lead}
        {!may('approve') && t.needsApprove}
      </p>
      <div class="bar">
        <PlaceChoice label={t.state} name="state" value={asked} options={[...states, 'all']} otherwise="pending" />
      </div>
      <Show of={loaded}>
        {({ approvals, total }) => (
          <>
            <Table
              caption={t.caption}
              empty={state === 'pending' ? t.noneWaits : state ? t.noneInState(state) : t.none}
              heads={[t.action, t.agent, t.stakes, t.state, t.rules, t.until, t.request]}
              rows={(state === 'pending' ? approvals.toSorted(bySoonest) : approvals).map((one) => [
                <To path={`/approvals/${one.id}`}>{one.action.description}</To>,
                <Agent of={one.requester} />,
                one.action.stakes && <Badge of={one.action.stakes} />,
                <Badge of={one.state} />,
                <code>{one.rules.map(({ guardrail_id }) => guardrail_id).join(', ')}</code>,
                <When at={one.expires_at} />,
                <code>{one.id}</code>,
              ])}
            />
            {total > 0 && <Csv name="approvals" fields={fields} rows={() => csvRows(state)} />}
            {total > approvals.length && <p class="quiet">{t.newest(approvals.length, total)}</p>}
          </>
        )}
      </Show>
    </>
  )
}
