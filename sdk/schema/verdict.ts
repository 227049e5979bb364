/** Verdicts on actions, and the one stored with a decision. */
import * as v from 'valibot'

const d = v.description

/** The verdicts, the strictest first. */
export const verdictValues = ['deny', 'defer', 'step_up', 'modify', 'allow'] as const
/** A verdict on an action. */
export type VerdictValue = (typeof verdictValues)[number]

/** The verdict with which a decision was recorded. */
export const RecordedVerdict = v.object({
  allowed: v.pipe(v.boolean(), d('False if rules blocked the action, but only warned about recording it.')),
  verdict: v.pipe(v.picklist(verdictValues), d('The strictest effect of the rules.')),
  rules: v.pipe(v.array(v.string()), d('Ids of the rules that fired.')),
  policy_hash: v.pipe(v.string(), d('SHA-256 of the rules.')),
  record_id: v.pipe(v.string(), d('Id of the evaluation in the audit trail.')),
  original: v.pipe(
    v.optional(v.record(v.string(), v.unknown())),
    d('With `modify` in preAction: the action as given; the decision contains the allowed action.'),
  ),
})
