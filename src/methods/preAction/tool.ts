/** What the tool pre_action takes: the same as the method, spelt flat. */
import * as v from 'valibot'
import { filledText } from '../../../sdk/schema/decision.ts'
import { trackedParams, whole } from '../../../sdk/schema/params.ts'
import { toolInput } from '../../calls/method.ts'
import { ActionParams } from '../checkGuardrails.ts'
import { params } from './params.ts'

const d = v.description
const { entries } = ActionParams

export const input = toolInput(
  v.object({
    description: v.pipe(entries.description, d('What you intend to do; it becomes the decision.')),
    category: entries.category,
    stakes: entries.stakes,
    confidence: v.pipe(entries.confidence, d('How sure you are that it will turn out well, 0 to 1.')),
    context: entries.context,
    reasons: v.pipe(params.entries.reasons, d('Why.')),
    tags: v.pipe(params.entries.tags, d('Tags for finding it again.')),
    pattern: v.pipe(params.entries.pattern, d('The abstract principle behind it.')),
    project: v.optional(v.pipe(filledText(256), d('Project, as owner/repo.'))),
    auto_record: v.pipe(v.optional(v.boolean(), true), d('Record the decision when it is allowed.')),
    query_limit: v.pipe(v.optional(whole(1, 50), 5), d('Most precedents.')),
    agent_id: trackedParams.agent_id,
    idempotency_key: params.entries.idempotency_key,
  }),
  ({ description, category, stakes, confidence, context, auto_record, query_limit, ...rest }) => ({
    action: { description, category, stakes, confidence, context },
    options: { auto_record, query_limit },
    ...rest,
  }),
)
