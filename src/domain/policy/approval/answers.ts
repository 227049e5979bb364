/** What people do with approvals: list them, read one, and answer it. */
import { CstpError, invalidParams } from '../../../../sdk/errors.ts'
import type { ApprovalState, Approval as Shown } from '../../../../sdk/schema/approval.ts'
import { keyedPages } from '../../../../sdk/storage/keyed.ts'
import type { KeyedReader, Store, Transaction } from '../../../../sdk/storage/store.ts'
import type { Caller } from '../../../core/caller.ts'
import { visibleCopy } from '../../../core/quote.ts'
import { timestamp } from '../../../core/time.ts'
import {
  type Approval,
  type Approver,
  current,
  type Desk,
  decide,
  refusal,
  show,
} from '../../record/approval/approval.ts'
import { addDenial } from './denials.ts'
import { approvalCollections, byIds, keep, putWaiting, type Waiting, waitingOf } from './requests.ts'

/** Approvers and auditors see all approvals, any other agent only its own. */
export interface Viewer extends Approver {
  approves: boolean
}

/** @param roles agents of each role of the settings */
export const viewerOf = (
  { agent, scopes, identity }: Caller,
  roles: Readonly<Record<string, readonly string[]>>,
): Viewer => ({
  agent,
  approves: scopes.has('approve') || scopes.has('audit'),
  identity,
  roles: [...scopes, ...Object.keys(roles).filter((role) => roles[role]!.includes(agent))],
})

/** Normalises an id that a person typed: in any case, with or without its dash, with O for 0, I or L for 1. */
export function approvalId(given: string): string {
  const text = given.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
  return `${text.slice(0, 4)}-${text.slice(4)}`
}

const sees = ({ approves, agent }: Viewer, { requester }: Approval): boolean => approves || requester === agent

const notFound = (received: string, { approves, agent }: Viewer) => {
  const message = approves
    ? 'no approval has this id'
    : `no approval that ${agent} requested has this id; those of others need the scope approve`
  return invalidParams({ path: 'id', message, expected: 'the id of an approval', received })
}

/** @throws CstpError `invalid_params` if there is none that the viewer may see */
export async function findApproval(keyed: Pick<KeyedReader, 'get'>, given: string, viewer: Viewer): Promise<Approval> {
  const id = approvalId(given)
  const approval = (await byIds(keyed, [id])).get(id)
  if (!approval || !sees(viewer, approval)) throw notFound(given, viewer)
  return approval
}

/** The approval with exactly this id; null if it is no longer kept. */
export async function approvalFor(
  keyed: Pick<KeyedReader, 'get'>,
  id: string,
  viewer: Viewer,
): Promise<Approval | 'withheld' | null> {
  const approval = (await byIds(keyed, [id])).get(id) ?? null
  return approval !== null && !sees(viewer, approval) ? 'withheld' : approval
}

/** The approvals as methods show them, with the earlier denials of the same agents and rules. */
export async function shownApprovals(
  keyed: Pick<KeyedReader, 'get'>,
  { now, approvalUrl }: Pick<Desk, 'now' | 'approvalUrl'>,
  approvals: readonly Approval[],
): Promise<Shown[]> {
  const denied = await byIds(keyed, [...new Set(approvals.flatMap((one) => one.denied_before ?? []))])
  return approvals.map((one) => ({
    ...show(one, now(), approvalUrl),
    earlier_denials: (one.denied_before ?? []).flatMap((id) => {
      const found = denied.get(id)
      if (found === undefined || found.decided_ms === null) return []
      const { action, decided_by, reason, decided_ms } = found
      const { description } = visibleCopy(action)
      return [{ id, description, decided_by, decided_at: timestamp(decided_ms), reason }]
    }),
  }))
}

/** Approvals in this state, newest request first, and their total number. */
export async function listApprovals(
  { keyed }: Pick<Store, 'keyed'>,
  viewer: Viewer,
  query: { state: ApprovalState | undefined; limit: number; offset: number; now_ms: number },
): Promise<{ approvals: Approval[]; total: number }> {
  const { state, limit, offset, now_ms } = query
  const found: Approval[] = []
  const take = (page: Iterable<Approval>) => {
    for (const one of page)
      if (sees(viewer, one) && (state === undefined || current(one, now_ms).state === state)) found.push(one)
  }
  if (state === 'pending')
    for await (const page of keyedPages(keyed, approvalCollections.waiting))
      take(
        (
          await byIds(
            keyed,
            page.flatMap(({ value }) => Object.keys(value as Waiting)),
          )
        ).values(),
      )
  else
    for await (const page of keyedPages(keyed, approvalCollections.approval))
      take(page.map(({ value }) => value as Approval))
  found.sort((a, b) => b.requested_ms - a.requested_ms || (a.id < b.id ? -1 : 1))
  return { approvals: found.slice(offset, offset + limit), total: found.length }
}

/** Grants or denies; the first answer wins. @throws CstpError if the viewer may not answer it, or it is no longer pending */
export async function answer(
  tx: Transaction,
  { approvalContext, request_id }: { approvalContext: Desk; request_id: string },
  viewer: Viewer,
  given: { id: string; granted: boolean; reason: string | null },
): Promise<Approval> {
  const now_ms = approvalContext.now()
  const before = await findApproval(tx.keyed, given.id, viewer)
  const why = refusal(before, viewer, given.granted, now_ms)
  if (why !== null) throw new CstpError('forbidden', `${before.id}: ${why}`, { id: before.id })
  const after = decide(before, { ...given, by: viewer.agent, identity: viewer.identity }, now_ms)
  if (after === null) {
    const { state, decided_by } = current(before, now_ms)
    const message = `${before.id} is ${state} already${decided_by === null ? '' : `, decided by ${decided_by}`}`
    throw invalidParams(
      { path: 'id', message, expected: 'a pending approval', received: given.id },
      { approval: show(before, now_ms, approvalContext.approvalUrl) },
    )
  }
  const { [after.id]: _, ...open } = await waitingOf(tx.keyed, after.requester, now_ms)
  await putWaiting(tx, after.requester, open)
  if (!given.granted) await addDenial(tx, after, now_ms)
  await keep(tx, { approvalContext, agent: viewer.agent, request_id }, after, 'decided')
  return after
}
