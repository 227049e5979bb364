/** What preAction is asked, and what of it is recorded. */
import * as v from 'valibot'
import { invalidParams } from '../../../sdk/errors.ts'
import { Interpretation } from '../../../sdk/schema/calibration.ts'
import { filledText, Reason, text } from '../../../sdk/schema/decision.ts'
import { trackedParams, whole } from '../../../sdk/schema/params.ts'
import { RecordParams } from '../../../sdk/schema/record.ts'
import { ActionParams } from '../checkGuardrails.ts'

const d = v.description

export const params = v.object({
  action: v.pipe(ActionParams, d('What the agent intends to do; its description becomes the decision.')),
  options: v.pipe(
    v.optional(
      v.object({
        query_limit: v.pipe(v.optional(whole(1, 50), 5), d('Most precedents.')),
        auto_record: v.pipe(v.optional(v.boolean(), true), d('Record the decision when it is allowed.')),
        include_patterns: v.pipe(v.optional(v.boolean(), true), d('Count the patterns of the precedents.')),
      }),
      {},
    ),
    d('What to do beside judging.'),
  ),
  reasons: v.optional(v.pipe(v.array(Reason), v.maxLength(100, 'at most 100 entries')), () => []),
  tags: v.optional(v.pipe(v.array(filledText(64)), v.maxLength(50, 'at most 50 entries')), () => []),
  pattern: v.nullish(text(10_000), null),
  project: RecordParams.entries.project,
  ...trackedParams,
  idempotency_key: v.pipe(
    v.nullish(filledText(256), null),
    d('The same key within 24 hours returns the first result, where that recorded a decision.'),
  ),
})
export type Params = v.InferOutput<typeof params>

export const CalibrationContext = v.object({
  reviewed_decisions: v.pipe(v.number(), d("Reviewed decisions behind the figures: the caller's own.")),
  brier_score: v.pipe(v.nullable(v.number()), d('Brier score; null with fewer than five scored.')),
  accuracy: v.pipe(v.nullable(v.number()), d('Mean result.')),
  calibration_gap: v.pipe(v.nullable(v.number()), d('Accuracy less mean confidence.')),
  interpretation: v.pipe(Interpretation, d('What the gap means.')),
  suggestion: v.pipe(v.nullable(v.string()), d('How to state confidence this time.')),
})
export type CalibrationContext = v.InferOutput<typeof CalibrationContext>

/** What the action is recorded as. */
export function recordParams({
  action,
  reasons,
  tags,
  pattern,
  project,
  agent_id,
  tracker_scope,
}: Params): RecordParams {
  const { description, category, confidence, stakes } = action
  const parsed = v.safeParse(RecordParams, {
    decision: description,
    category: category ?? assumed.category,
    confidence: confidence ?? assumed.confidence,
    stakes,
    reasons,
    tags: [...new Set([...action.tags, ...tags])],
    pattern,
    project: project ?? action.project,
    agent_id,
    decision_id: tracker_scope,
    pre_decision_protocol: { query_run: true, guardrails_checked: true },
  })
  if (parsed.success) return parsed.output
  // Each is right in itself; together they can be too many.
  const [issue] = parsed.issues
  const { message, received } = issue
  throw invalidParams({ path: v.getDotPath(issue) ?? '', message, expected: issue.expected ?? message, received })
}

/** What a record says where the caller did not. */
export const assumed = { category: 'uncategorized', confidence: 0.5 }
