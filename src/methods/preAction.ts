/** cstp.preAction: precedents, verdict and calibration in one call, then the record if allowed. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { trackedParams, whole } from '../../sdk/schema/params.ts'
import { ActionParams } from '../../sdk/schema/policy.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { preAction as checkAndRecord, PreActionParams } from '../domain/lifecycle/pre-action.ts'
import { PreActionResult } from '../domain/lifecycle/pre-action-answer.ts'

const d = v.description
const { entries } = ActionParams

/** The method's parameters with a flat structure. */
const input = toolInput(
  v.object({
    description: v.pipe(entries.description, d('What you intend to do; it becomes the decision.')),
    category: entries.category,
    stakes: entries.stakes,
    confidence: v.pipe(entries.confidence, d('How sure you are that it will turn out well, 0 to 1.')),
    context: entries.context,
    reasons: v.pipe(PreActionParams.entries.reasons, d('Why.')),
    tags: v.pipe(PreActionParams.entries.tags, d('Tags.')),
    pattern: v.pipe(PreActionParams.entries.pattern, d('The abstract principle behind it.')),
    project: v.optional(v.pipe(nonEmptyText(256), d('Project, as owner/repo.'))),
    pr: entries.pr,
    scope: entries.scope,
    auto_record: v.pipe(v.optional(v.boolean(), true), d('Record the decision if it is allowed.')),
    query_limit: v.pipe(v.optional(whole(1, 50), 5), d('Maximum number of precedents.')),
    agent_id: trackedParams.agent_id,
    idempotency_key: PreActionParams.entries.idempotency_key,
  }),
  ({ description, category, stakes, confidence, context, project, pr, scope, auto_record, query_limit, ...rest }) => ({
    action: { description, category, stakes, confidence, context, project, pr, scope },
    options: { auto_record, query_limit },
    ...rest,
  }),
)

export const preAction = defineMethod({
  summary:
    'Finds precedents, checks the guardrails and returns the calibration in one call; records the decision if it is allowed.',
  params: PreActionParams,
  result: PreActionResult,
  scope: 'write',
  effect: 'keyed',
  cost: 16,
  keeps_texts: true,
  mcp: {
    name: 'pre_action',
    title: 'Check and record decision',
    description:
      'The standard way to decide: call it once before you act. It finds precedents, checks the guardrails, returns your calibration and, if allowed, records the decision (auto_record) with your previous queries and thoughts. Act only if `allowed` is true; keep `decision_id` for review_outcome.',
    input,
  },
  failure: 'guardrail_eval_failed',
  handle: checkAndRecord,
})
