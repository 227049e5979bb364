/** Approvals: one request of an agent that a person grants or denies. */
import * as v from 'valibot'
import { filledText } from './decision.ts'

const d = v.description

/** State of an approval; `consumed` is a grant that an action has used. */
export const ApprovalState = v.picklist(['pending', 'approved', 'denied', 'expired', 'consumed'])
export type ApprovalState = v.InferOutput<typeof ApprovalState>

/** A rule that required the approval, as it was at the time of the request. */
const ApprovalRule = v.object({
  guardrail_id: v.pipe(v.string(), d('Id of the rule.')),
  name: v.pipe(v.string(), d('Short name of the rule.')),
  message: v.pipe(v.string(), d('What the rule says to the caller.')),
  text: v.pipe(v.string(), d('The rule as canonical JSON.')),
})

/** The action to approve, secrets redacted. */
const ApprovalAction = v.object({
  description: v.pipe(v.string(), d('What the agent intends to do.')),
  category: v.nullable(v.string()),
  stakes: v.nullable(v.string()),
  confidence: v.nullable(v.number()),
  tags: v.array(v.string()),
  project: v.pipe(v.nullable(v.string()), d('Project of the action.')),
  scope: v.pipe(v.nullable(v.string()), d('Scope of the action.')),
  context: v.record(v.string(), v.unknown()),
})

/** One request for an approval, with its answer. */
export const Approval = v.object({
  id: v.pipe(v.string(), d('Short code, such as 7F3K-Q2MX.')),
  url: v.pipe(v.string(), d('Where a person decides it.')),
  state: v.pipe(ApprovalState, d('`consumed` is a grant that an action has used.')),
  expires_at: v.pipe(v.string(), d('RFC 3339. Without an answer until then it is denied.')),
  evaluation_id: v.pipe(v.string(), d('The evaluation that asked, as the audit trail names it.')),
  request_digest: v.pipe(v.string(), d('SHA-256 of the JCS of agent, tool, arguments, resource and policy_hash.')),
  policy_hash: v.pipe(v.string(), d('The rules that asked.')),
  requester: v.pipe(v.string(), d('The agent that wants to act.')),
  on_behalf_of: v.pipe(v.nullable(v.string()), d('Whom the requester says that it acts for.')),
  session: v.pipe(v.nullable(v.string()), d('Session of the requester, if it named one.')),
  action: v.pipe(ApprovalAction, d('What is to be approved, secrets redacted.')),
  rules: v.pipe(v.array(ApprovalRule), d('The rules that asked.')),
  approvers: v.pipe(
    v.array(v.string()),
    d('Who may decide: agents or roles; empty for everybody with the scope approve.'),
  ),
  remember: v.pipe(
    v.string(),
    d('`none`: the next action uses a grant up. `exact:24h`: the same action passes for so long.'),
  ),
  requested_at: v.pipe(v.string(), d('RFC 3339.')),
  decided_by: v.pipe(v.nullable(v.string()), d('Who answered.')),
  decided_at: v.pipe(v.nullable(v.string()), d('RFC 3339.')),
  reason: v.pipe(v.nullable(v.string()), d('Why it was decided so.')),
  approved_until: v.pipe(v.nullable(v.string()), d('RFC 3339. Until then a grant can be used.')),
  consumed_at: v.pipe(v.nullable(v.string()), d('RFC 3339. When a grant was first used.')),
})
export type Approval = v.InferOutput<typeof Approval>

/** Id of an approval; it names no decision. */
export const ApprovalId = v.pipe(filledText(32), d('Its id, such as 7F3K-Q2MX.'))
