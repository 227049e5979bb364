/** cstp.listApprovals: requests for approval, newest first. */
import * as v from 'valibot'
import { Approval, ApprovalState } from '../../sdk/schema/approval.ts'
import { shortened, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { withRecords } from '../domain/learn/calibration/records.ts'
import { listApprovals as list, shownApprovals, viewerOf } from '../domain/policy/approval/answers.ts'

const d = v.description

export const listApprovals = defineMethod({
  summary: 'Lists approval requests, newest first: your own, or all with the scope approve.',
  params: v.object({
    state: v.optional(v.pipe(ApprovalState, d('Only requests in this state.'))),
    limit: v.pipe(v.optional(whole(1, 500), 50), d('Maximum number of requests.')),
    offset: v.pipe(v.optional(whole(0, 1_000_000), 0), d('Number of requests to skip.')),
  }),
  result: v.object({
    approvals: v.pipe(v.array(Approval), d('The requests.')),
    total: v.pipe(v.number(), d('Number of requests in this state, on all pages.')),
    shortened,
  }),
  scope: 'read',
  page: { list: 'approvals' },
  effect: 'read',
  async handle({ store, caller, now, approvalContext, roles }, query) {
    const now_ms = now()
    const { approvals, total } = await list(store, viewerOf(caller, roles), { ...query, state: query.state, now_ms })
    const shown = await shownApprovals(store.keyed, approvalContext, approvals)
    return { approvals: await withRecords(store, shown, now_ms), total }
  },
})
