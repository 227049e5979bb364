/** cstp.decideApproval: a person grants or denies a request. */
import * as v from 'valibot'
import { Approval, ApprovalId } from '../../sdk/schema/approval.ts'
import { text } from '../../sdk/schema/decision.ts'
import { ThreadId } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { answer, viewerOf } from '../domain/policy/approval/answers.ts'
import { approvalStepId } from '../domain/record/act-ids.ts'
import { show } from '../domain/record/approval/approval.ts'

const d = v.description

export const decideApproval = defineMethod({
  summary:
    'Grants or denies an approval request. The first answer is final; the requester cannot answer its own request.',
  params: v.object({
    id: ApprovalId,
    decision: v.pipe(v.picklist(['approve', 'deny']), d('The answer.')),
    reason: v.pipe(v.nullish(text(2_000), null), d('Reason, shown to the requester.')),
  }),
  result: v.object({ ...Approval.entries, record_id: ThreadId }),
  scope: 'approve',
  effect: 'write',
  keeps_texts: true,
  async handle(call, { id, decision, reason }) {
    const viewer = viewerOf(call.caller, call.roles)
    const given = { id, granted: decision === 'approve', reason }
    const after = await call.store.transaction((tx) => answer(tx, call, viewer, given))
    return {
      ...show(after, call.now(), call.approvalContext.approvalUrl),
      record_id: approvalStepId(after.id, 'decided'),
    }
  },
})
