/** cstp.getApproval: one request for approval. */
import * as v from 'valibot'
import { Approval, ApprovalId } from '../../sdk/schema/approval.ts'
import { defineMethod } from '../calls/method.ts'
import { findApproval, viewerOf } from '../domain/policy/approval/answers.ts'
import { show } from '../domain/record/approval/approval.ts'

export const getApproval = defineMethod({
  summary: 'Returns an approval request: your own, or with the scope approve any.',
  params: v.object({ id: ApprovalId }),
  result: Approval,
  scope: 'read',
  effect: 'read',
  async handle({ store, caller, now, approvalContext, roles }, { id }) {
    return show(await findApproval(store.keyed, id, viewerOf(caller, roles)), now(), approvalContext.approvalUrl)
  },
})
