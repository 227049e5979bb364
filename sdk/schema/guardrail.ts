/** Guardrail files: rules, circuit breakers and their conditions, as an operator writes them in YAML. */
import * as v from 'valibot'
import { filledText, fraction, Outcome } from './decision.ts'

const d = v.description
const positive = v.pipe(v.number(), v.finite('a number'), v.gtValue(0, 'a number above 0'))
const count = v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1'))
const name = filledText(256)
const duration = v.pipe(v.string(), v.regex(/^[1-9]\d{0,4}[smhdw]$/, 'a duration such as 30m, 1h or 7d'))

/** Every operator of a field condition. */
export const operators = ['<', '<=', '>', '>=', '=', '==', '!=', 'in', 'not_in', 'contains', 'exists'] as const
/** Operator of a field condition. */
export type Operator = (typeof operators)[number]
/** The operators that compare numbers. */
export const comparisons = ['<', '<=', '>', '>=', '=', '==', '!='] as const

/** A value that a field can be compared with. */
const Scalar = v.union([v.string(), v.pipe(v.number(), v.finite('a number')), v.boolean()])

/** Compares one field of the action or of its context. */
export const FieldCondition = v.strictObject({
  type: v.literal('field'),
  field: v.pipe(
    name,
    d(
      'Field of the action; `context.<key>` for its context. A bare name that is not a field of the action is looked up in the context.',
    ),
  ),
  operator: v.pipe(v.picklist(operators), d('How it is compared.')),
  value: v.optional(
    v.pipe(v.union([Scalar, v.array(Scalar)]), d('The value to compare with; a list for `in` and `not_in`.')),
  ),
  exact: v.optional(
    v.pipe(
      v.boolean(),
      d('Compares text as it is. By default case, compatible forms and look-alike letters make no difference.'),
    ),
  ),
  when_missing: v.optional(
    v.pipe(
      v.picklist(['match', 'no_match']),
      d(
        'The result if the field is absent: by default `match` for fields of the context in a rule that blocks, else `no_match`.',
      ),
    ),
  ),
})

/** Looks for past decisions with a similar meaning. */
export const SemanticCondition = v.strictObject({
  type: v.literal('semantic'),
  threshold: v.pipe(fraction, d('Minimum similarity (1 − cosine distance) of a past decision to the description.')),
  outcome: v.optional(v.pipe(Outcome, d('Only past decisions with this outcome.'))),
  within_days: v.optional(v.pipe(positive, d('Only decisions of this many past days.'))),
  min_matches: v.pipe(v.optional(count, 1), d('How many must be this similar.')),
})

/** Fields of recorded decisions that a temporal condition can count by. */
const countedFields = ['category', 'stakes', 'status', 'outcome', 'project', 'feature', 'agent', 'tag'] as const

const clock = v.pipe(v.string(), v.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day such as 22:00'))
/** Days of the week as a clock condition names them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Counts recorded decisions within a window, or looks at the clock. */
export const TemporalCondition = v.strictObject({
  type: v.literal('temporal'),
  field: v.optional(v.pipe(v.picklist(countedFields), d('Count recorded decisions by this field …'))),
  value: v.optional(v.pipe(name, d('… with this value …'))),
  window_hours: v.optional(v.pipe(positive, d('… recorded within this many hours.'))),
  max_occurrences: v.optional(v.pipe(count, d('True if at least this many match.'))),
  between: v.optional(
    v.pipe(v.tuple([clock, clock]), d('Times of day, the first included; the span may cross midnight.')),
  ),
  weekdays: v.optional(
    v.pipe(v.array(v.picklist(weekdays)), v.minLength(1, 'at least one day'), d('Days of the week.')),
  ),
  timezone: v.optional(
    v.pipe(
      name,
      v.check(isTimezone, 'an IANA time zone such as Europe/Berlin'),
      d('Time zone of the clock; by default UTC.'),
    ),
  ),
})

function isTimezone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** Figures that an aggregate condition compares. */
export const metrics = ['success_rate', 'avg_confidence', 'count', 'brier'] as const

/** Compares a figure over past decisions. */
export const AggregateCondition = v.strictObject({
  type: v.literal('aggregate'),
  category: v.optional(v.pipe(name, d('Decisions of this category; by default of all.'))),
  metric: v.pipe(v.picklist(metrics), d('The figure; rates and scores are between 0 and 1.')),
  operator: v.pipe(v.picklist(comparisons), d('How the figure is compared.')),
  value: v.pipe(v.number(), v.finite('a number'), d('The value to compare with.')),
  min_decisions: v.optional(
    v.pipe(count, d('With fewer decisions the condition is false; by default 1, for `count` 0.')),
  ),
  window_days: v.optional(v.pipe(positive, d('Only decisions of this many past days.'))),
})

/** An expression in the Common Expression Language. */
export const CelCondition = v.strictObject({
  type: v.literal('cel'),
  expression: v.pipe(filledText(4_000), d('A CEL expression over `action`; the condition holds if it is true.')),
})

/** Compares one field of the action or of its context. */
export type FieldCondition = v.InferOutput<typeof FieldCondition>
/** Looks for past decisions with a similar meaning. */
export type SemanticCondition = v.InferOutput<typeof SemanticCondition>
/** Counts recorded decisions within a window, or looks at the clock. */
export type TemporalCondition = v.InferOutput<typeof TemporalCondition>
/** Compares a figure over past decisions. */
export type AggregateCondition = v.InferOutput<typeof AggregateCondition>
/** An expression in the Common Expression Language. */
export type CelCondition = v.InferOutput<typeof CelCondition>
/** Joins conditions with and, or, or not. */
export interface CompoundCondition {
  type: 'compound'
  operator: 'and' | 'or' | 'not'
  conditions: Condition[]
}
/** One condition of any kind. */
export type Condition =
  | FieldCondition
  | SemanticCondition
  | TemporalCondition
  | AggregateCondition
  | CelCondition
  | CompoundCondition

/** Joins conditions with and, or, or not. */
export const CompoundCondition = v.strictObject({
  type: v.literal('compound'),
  operator: v.pipe(v.picklist(['and', 'or', 'not']), d('`not` takes exactly one condition.')),
  conditions: v.pipe(
    v.array(v.lazy((): v.GenericSchema<unknown, Condition> => Condition as never)),
    v.minLength(1, 'at least one condition'),
  ),
})

/** One condition of any kind. */
export const Condition = v.variant('type', [
  FieldCondition,
  SemanticCondition,
  TemporalCondition,
  AggregateCondition,
  CelCondition,
  CompoundCondition,
])

/** What a violated rule asks for, the strictest first; the strictest of all rules is the verdict. */
export const ruleActions = ['block', 'defer', 'step_up', 'modify', 'warn', 'log'] as const

/** Who approves an action, and for how long an approval counts. */
export const StepUp = v.strictObject({
  approvers: v.pipe(
    v.optional(v.array(name), () => []),
    d('People or roles that may approve; by default anyone with the scope `approve`.'),
  ),
  expires: v.pipe(v.optional(duration, '1h'), d('How long the request waits; no answer is a denial.')),
  remember: v.pipe(
    v.optional(
      v.pipe(v.string(), v.regex(/^(?:none|exact:[1-9]\d{0,4}[smhdw])$/, '`none`, or `exact:` and a duration')),
      'none',
    ),
    d('`none`: an approval lets one evaluation pass. `exact:24h`: the same request passes for that long.'),
  ),
  separation: v.pipe(
    v.optional(v.boolean(), true),
    d('The approver must not have recorded or reviewed what the request is about. The requester never approves.'),
  ),
})
export type StepUp = v.InferOutput<typeof StepUp>

/** Why an action can't be judged now. */
export const Defer = v.strictObject({
  reason: v.pipe(filledText(2_000), d('What is not known yet.')),
  expires: v.pipe(v.optional(duration, '1h'), d('After this time the caller has to treat it as denied.')),
})

/** How an action is changed before it may go on. */
export const Modify = v.strictObject({
  set: v.pipe(
    v.optional(v.record(name, v.unknown()), () => ({})),
    d('Values by field of the action or `context.<key>`.'),
  ),
  remove: v.pipe(
    v.optional(v.array(name), () => []),
    d('Fields of the action or of its context to remove.'),
  ),
})
export type Modify = v.InferOutput<typeof Modify>

/** An observed event of the action's pull request or commit. */
export const EvidenceRequirement = v.strictObject({
  evidence: v.pipe(filledText(128), d('Type of the event, such as `pr_review_approved`.')),
  by: v.optional(v.pipe(v.picklist(['human', 'bot']), d('Kind of account that caused it.'))),
  not_by: v.optional(v.pipe(v.picklist(['author']), d('Not by the author of the pull request.'))),
  within: v.optional(v.pipe(duration, d('How recent it must be.'))),
  for: v.optional(v.pipe(name, d('Field that names the pull request or the commit; by default the action’s own.'))),
  conclusion: v.optional(v.pipe(name, d('Conclusion that it must have, such as `success`.'))),
})
export type EvidenceRequirement = v.InferOutput<typeof EvidenceRequirement>

/** An approval by somebody else. */
export const ApprovalRequirement = v.strictObject({
  approval: v.pipe(name, d('Person or role that must approve.')),
})

/** A guardrail: when its conditions hold, its requirements must be true. */
export const Rule = v.strictObject({
  id: v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'letters, digits and . _ : - (at most 128)'),
    d('Unique over all files.'),
  ),
  name: v.optional(v.pipe(name, d('Short name, shown in violations.'))),
  description: v.optional(v.pipe(filledText(2_000), d('Its purpose.'))),
  action: v.pipe(v.optional(v.picklist(ruleActions), 'block'), d('The effect of a violation.')),
  mode: v.pipe(
    v.optional(v.picklist(['enforce', 'shadow']), 'enforce'),
    d('`shadow`: the rule is evaluated and kept in the trail, and stops nothing.'),
  ),
  step_up: v.optional(v.pipe(StepUp, d('With `action: step_up`: who approves.'))),
  defer: v.optional(v.pipe(Defer, d('With `action: defer`: why it can’t be judged now.'))),
  modify: v.optional(v.pipe(Modify, d('With `action: modify`: what changes.'))),
  record: v.optional(
    v.pipe(v.literal('decision'), d('Hooks record an action that this rule applies to as a decision.')),
  ),
  scope: v.optional(
    v.pipe(
      v.union([name, v.pipe(v.array(name), v.minLength(1, 'at least one scope'))]),
      d('Projects or scopes to which the rule applies; by default all.'),
    ),
  ),
  message: v.optional(v.pipe(filledText(2_000), d('Message for the caller.'))),
  suggestion: v.optional(v.pipe(filledText(2_000), d('What the caller can do.'))),
  conditions: v.pipe(
    v.optional(v.array(Condition), () => []),
    d('All must hold.'),
  ),
  requirements: v.pipe(
    v.optional(v.array(name), () => []),
    d('Fields that must be exactly true, or the rule is violated.'),
  ),
  requires: v.pipe(
    v.optional(v.array(v.union([EvidenceRequirement, ApprovalRequirement])), () => []),
    d('Evidence and approvals without which the rule is violated. No field of the context satisfies them.'),
  ),
})
/** A guardrail: when its conditions hold, its requirements must be true. */
export type Rule = v.InferOutput<typeof Rule>

/** A circuit breaker: blocks its scope after a number of failures within a window. */
export const BreakerRule = v.strictObject({
  scope: v.pipe(
    v.string(),
    v.regex(
      /^(?:global|(?:category|stakes|agent|tag|project):.{1,256})$/,
      'global, or category: stakes: agent: tag: project: and a value',
    ),
    d('`global`, or `category:`, `stakes:`, `agent:`, `tag:` or `project:` and a value.'),
  ),
  failure_threshold: v.pipe(count, d('Failures within the window that open the breaker.')),
  window_ms: v.pipe(positive, d('Milliseconds for which a failure counts.')),
  cooldown_ms: v.pipe(positive, d('Milliseconds until an open breaker allows one probe.')),
  self_review: v.optional(
    v.pipe(v.boolean(), d('Whether the recorder of a probe may close the breaker by reviewing it.')),
  ),
})
/** A circuit breaker: blocks its scope after a number of failures within a window. */
export type BreakerRule = v.InferOutput<typeof BreakerRule>

/** A guardrail file in its long form; a bare list of rules is read as `guardrails`. */
export const RuleFile = v.strictObject({
  trust: v.pipe(
    v.optional(v.picklist(['claims', 'evidence']), 'claims'),
    d('`evidence`: a rule that only the agent’s word satisfies is an error of `cstp guardrails check`.'),
  ),
  guardrails: v.pipe(
    v.optional(v.array(Rule), () => []),
    d('Rules.'),
  ),
  circuit_breakers: v.pipe(
    v.optional(v.array(BreakerRule), () => []),
    d('Circuit breakers.'),
  ),
  template: v.pipe(
    v.optional(v.union([name, v.array(name)])),
    d('Templates to load as well: `templates/<name>.yaml` beside the file, else a shipped one.'),
  ),
})
export type RuleFile = v.InferOutput<typeof RuleFile>
