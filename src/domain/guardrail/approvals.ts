/** How a verdict of `step_up` meets approvals: in the transaction of its evaluation they are looked up, used or requested. */
import type { StepUp } from '../../../sdk/schema/guardrail.ts'
import type { ApprovalRef } from '../../../sdk/schema/policy.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import type { Action } from './action.ts'

/** What has to be approved. */
export interface ApprovalRequest {
  /** Id of the evaluation that asks. */
  evaluation_id: string
  /** The authenticated agent; it never approves its own request. */
  requester: string
  action: Action
  policy_hash: string
  /** Every rule that asks for an approval, with its text. */
  rules: { id: string; message: string; step_up: StepUp }[]
  /** Looks up without using or requesting anything. */
  dry_run: boolean
}

/** The store of approvals, as evaluation needs it. */
export interface Approvals {
  /**
   * The approval of this request: one that was granted is used up, unless it is remembered; else the pending one, or a new one.
   * Null if there is none and none could be made. The action may go on only with `granted`.
   */
  settle(tx: Transaction, request: ApprovalRequest): Promise<{ granted: boolean; approval: ApprovalRef | null }>
}
