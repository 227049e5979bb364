/** Approvals: one request of an agent that a person grants or denies. */
import * as v from 'valibot'
import { OverallFigures, Verdict } from './calibration.ts'
import { nonEmptyText, Stakes } from './decision.ts'
import { Change } from './policy.ts'

const d = v.description

/** State of an approval; `consumed` is a grant that an action has used. */
export const ApprovalState = v.picklist(['pending', 'approved', 'denied', 'expired', 'consumed'])
export type ApprovalState = v.InferOutput<typeof ApprovalState>

/** A rule that required the approval, as it was at the time of the request. */
const ApprovalRule = v.object({
  guardrail_id: v.pipe(v.string(), d('Id of the rule.')),
  name: v.pipe(v.string(), d('Short name of the rule.')),
  message: v.pipe(v.string(), d('Message of the rule for the caller.')),
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
  pr: v.optional(v.pipe(v.nullable(v.number()), d('Pull request of the action; absent in older records.'))),
  scope: v.pipe(v.nullable(v.string()), d('Scope of the action.')),
  context: v.record(v.string(), v.unknown()),
})

/** A denied request of the same agent for the same rule. */
const EarlierDenial = v.object({
  id: v.pipe(v.string(), d('Id of the request.')),
  description: v.pipe(v.string(), d('What the agent intended to do.')),
  decided_by: v.pipe(v.nullable(v.string()), d('Who denied it.')),
  decided_at: v.pipe(v.string(), d('RFC 3339.')),
  reason: v.pipe(v.nullable(v.string()), d('Reason for the denial.')),
})

/** One request for an approval, with its answer. */
export const Approval = v.object({
  id: v.pipe(v.string(), d('Short code, such as 7F3K-Q2MX.')),
  url: v.pipe(v.string(), d('URL where a person answers it.')),
  state: v.pipe(ApprovalState, d('`consumed`: granted, and used by an action.')),
  expires_at: v.pipe(v.string(), d('When an unanswered request is denied, RFC 3339.')),
  evaluation_id: v.pipe(v.string(), d('Id in the audit trail of the evaluation that requested it.')),
  request_digest: v.pipe(v.string(), d('SHA-256 of the JCS of agent, tool, arguments, resource and policy_hash.')),
  policy_hash: v.pipe(v.string(), d('SHA-256 of the rules and circuit breakers that were evaluated.')),
  requester: v.pipe(v.string(), d('The agent that wants to act.')),
  on_behalf_of: v.pipe(v.nullable(v.string()), d('On whose behalf the requester claims to act.')),
  session: v.pipe(v.nullable(v.string()), d('Session of the requester, if given.')),
  action: v.pipe(
    ApprovalAction,
    d('The action to approve, with secrets redacted, and invisible characters as their code points.'),
  ),
  changes: v.optional(
    v.pipe(v.array(Change), d('What rules change in the action before it runs; absent in older records.')),
  ),
  not_shown: v.optional(
    v.pipe(
      v.array(v.string()),
      d('Parts of the action that are not shown, each with the reason; absent in older records.'),
    ),
  ),
  earlier_denials: v.optional(
    v.pipe(
      v.array(EarlierDenial),
      d('Denied requests of the same agent for the same rules, newest first; not in answers of decideApproval.'),
    ),
  ),
  agent_record: v.optional(
    v.pipe(
      v.object({
        stakes: v.pipe(Stakes, d('Stakes of the action; medium if it states none.')),
        overall: v.pipe(OverallFigures, d('Figures of all scored decisions of the requester at these stakes.')),
        verdict: v.pipe(Verdict, d('The verdict on these decisions.')),
      }),
      d('What `getCalibration` answers about the requester at these stakes; not in answers of decideApproval.'),
    ),
  ),
  rules: v.pipe(v.array(ApprovalRule), d('The rules that require it.')),
  approvers: v.pipe(
    v.array(v.string()),
    d('Agents or roles that may decide; empty for everyone with the scope approve.'),
  ),
  authentication: v.optional(
    v.pipe(
      v.nullable(
        v.object({
          max_age_s: v.pipe(v.nullable(v.number()), d('Seconds since the login, at most; null for any.')),
          acr: v.pipe(v.nullable(v.array(v.string())), d('Accepted classes of authentication; null for any.')),
        }),
      ),
      d('The login at the issuer that granting it requires; null or absent for none.'),
    ),
  ),
  remember: v.pipe(
    v.string(),
    d('`none`: the approval is valid for one action. `exact:24h`: the same action is allowed for that long.'),
  ),
  requested_at: v.pipe(v.string(), d('RFC 3339.')),
  decided_by: v.pipe(v.nullable(v.string()), d('Who answered the request.')),
  decider: v.optional(
    v.pipe(
      v.nullable(
        v.object({
          issuer: v.pipe(v.string(), d('Who authenticated the person.')),
          sub: v.pipe(v.string(), d('The person, as the issuer identifies it.')),
          auth_time: v.optional(v.pipe(v.number(), d('When the person authenticated, in seconds since 1970.'))),
          acr: v.optional(v.pipe(v.string(), d('Class of the authentication.'))),
        }),
      ),
      d('The person who answered, if an issuer authenticated it.'),
    ),
  ),
  decided_at: v.pipe(v.nullable(v.string()), d('RFC 3339.')),
  reason: v.pipe(v.nullable(v.string()), d('Reason for the answer.')),
  approved_until: v.pipe(v.nullable(v.string()), d('End of validity of a granted approval, RFC 3339.')),
  consumed_at: v.pipe(v.nullable(v.string()), d('When the approval was first used, RFC 3339.')),
})
export type Approval = v.InferOutput<typeof Approval>

/** Id of an approval; it names no decision. */
export const ApprovalId = v.pipe(nonEmptyText(32), d('Id of the request, such as 7F3K-Q2MX.'))
