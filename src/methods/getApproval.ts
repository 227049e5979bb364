/** cstp.getApproval: one request for approval. */
import * as v from 'valibot'
import { Approval, ApprovalId } from '../../sdk/schema/approval.ts'
import { defineMethod } from '../calls/method.ts'
import { withRecords } from '../domain/learn/calibration/records.ts'
import { findApproval, shownApprovals, viewerOf } from '../domain/policy/approval/answers.ts'

export const getApproval = defineMethod({
  summary: 'Returns an approval request: your own, or with the scope approve any.',
  params: v.object({ id: ApprovalId }),
  result: Approval,
  scope: 'read',
  effect: 'read',
  async handle({ store, caller, now, approvalContext, roles }, { id }) {
    const found = await findApproval(store.keyed, id, viewerOf(caller, roles))
    const [shown] = await shownApprovals(store.keyed, approvalContext, [found])
    const [recorded] = await withRecords(store, [shown!], now())
    return recorded!
  },
})
