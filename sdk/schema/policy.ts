/** Results of the policy methods. */
import * as v from 'valibot'
import { fraction, nonEmptyText, Stakes } from './decision.ts'
import { verdictValues } from './verdict.ts'

const d = v.description

const State = v.picklist(['closed', 'open', 'half_open'])

/** A violation, or a warning; entries of circuit breakers carry the last three fields. */
export const Violation = v.object({
  guardrail_id: v.pipe(v.string(), d('Id of the rule, or `circuit_breaker:<scope>`.')),
  name: v.pipe(v.string(), d('Name of the rule, or its description, or its id.')),
  message: v.pipe(v.string(), d('The problem.')),
  severity: v.pipe(v.picklist(['block', 'warn']), d('Whether it blocks the action.')),
  suggestion: v.pipe(v.nullable(v.string()), d('Suggested fix.')),
  error: v.pipe(v.nullable(v.string()), d('Why the rule could not be evaluated; it then counts as violated.')),
  verdict: v.pipe(
    v.optional(v.picklist(['defer', 'step_up', 'modify'])),
    d('Effect of the rule, unless it denies or only warns.'),
  ),
  state: v.pipe(v.optional(State), d('For a circuit breaker: its state.')),
  failure_rate: v.pipe(
    v.optional(v.nullable(fraction)),
    d('For a circuit breaker: failures among the reviews within its window.'),
  ),
  reset_at: v.pipe(
    v.optional(v.nullable(v.string())),
    d('For a circuit breaker: when an action may be tried again, RFC 3339.'),
  ),
})
export type Violation = v.InferOutput<typeof Violation>

/** An approval, as a verdict refers to it. */
export const ApprovalRef = v.object({
  id: v.pipe(v.string(), d('Short code of the request.')),
  url: v.pipe(v.nullable(v.string()), d('URL where people answer it.')),
  state: v.pipe(v.picklist(['pending', 'approved', 'denied', 'expired', 'consumed']), d('Its state.')),
  expires_at: v.pipe(v.string(), d('RFC 3339.')),
})
export type ApprovalRef = v.InferOutput<typeof ApprovalRef>

/** One change that `modify` rules make. */
export const Change = v.object({
  field: v.pipe(v.string(), d('Field of the action, or `context.<key>`.')),
  before: v.pipe(v.unknown(), d('Original value; null if absent.')),
  after: v.pipe(v.unknown(), d('New value; null if removed.')),
  rule: v.pipe(v.string(), d('Rule that changes the field.')),
})
export type Change = v.InferOutput<typeof Change>

/** Fields of a verdict that checkGuardrails and preAction return, in addition to `allowed`, `violations` and `warnings`. */
export const verdictEntries = {
  verdict: v.pipe(
    v.picklist(verdictValues),
    d('The strictest effect of all rules. `allowed` is true only for `allow` and `modify`.'),
  ),
  record_id: v.pipe(
    v.nullable(v.string()),
    d('Id of the evaluation in the audit trail; null if it could not be written.'),
  ),
  approval: v.pipe(
    v.nullable(ApprovalRef),
    d('The approval request that a `step_up` waits for, or the approval that was used.'),
  ),
  modified_action: v.pipe(
    v.nullable(v.record(v.string(), v.unknown())),
    d('With `modify`: the action that is allowed instead of the given one.'),
  ),
  changes: v.pipe(v.array(Change), d('How `modified_action` differs from the given action.')),
  satisfied_by: v.pipe(
    v.array(
      v.object({
        rule: v.pipe(v.string(), d('Id of the rule.')),
        seqs: v.pipe(v.array(v.number()), d('Evidence records that satisfy the rule.')),
      }),
    ),
    d('Evidence records that satisfied the requirements of a rule.'),
  ),
  skipped_for_scope: v.pipe(
    v.array(v.string()),
    d('Rules that would apply if the action named their project or scope; none if it names one.'),
  ),
  would_block: v.optional(
    v.pipe(
      v.array(v.string()),
      d('Rules in shadow mode that would have blocked the action; left out if there are none.'),
    ),
  ),
} as const

/** The current verdict, next to the answer that an earlier call with the same key returned. */
export const PresentVerdict = v.pipe(
  v.object({
    allowed: v.boolean(),
    verdict: verdictEntries.verdict,
    violations: v.array(Violation),
    policy_hash: v.string(),
    record_id: v.pipe(v.nullable(v.string()), d('Id of its evaluation in the audit trail.')),
  }),
  d('With `replayed`: the current verdict, which uses no approval.'),
)
export type PresentVerdict = v.InferOutput<typeof PresentVerdict>

/** The current state of a circuit breaker. */
export const BreakerState = v.object({
  scope: v.pipe(v.string(), d('Scope of the breaker: `global`, or a category, stakes, agent, tag or project.')),
  state: v.pipe(State, d('`open` blocks; `half_open` allows one trial.')),
  failure_count: v.pipe(v.number(), d('Failures within the window.')),
  failure_threshold: v.pipe(v.number(), d('Number of failures that opens the breaker.')),
  window_ms: v.pipe(v.number(), d('Period for which a failure counts.')),
  cooldown_ms: v.pipe(v.number(), d('How long the breaker stays open, and how long it waits for a probe.')),
  self_review: v.pipe(v.boolean(), d("Whether the recorder's own review of a probe closes the breaker.")),
  cooldown_remaining_ms: v.pipe(
    v.number(),
    d('Time until an open breaker allows a probe, or until it stops waiting for one.'),
  ),
  opened_at: v.pipe(v.nullable(v.string()), d('RFC 3339.')),
  opened_by: v.pipe(
    v.array(
      v.object({
        decision_id: v.pipe(v.string(), d('A decision that failed.')),
        reviewed_at: v.pipe(v.string(), d('Time of the review that reported the failure, RFC 3339.')),
      }),
    ),
    d('The failures that last opened the breaker; empty once it is closed.'),
  ),
  probe_decision_id: v.pipe(
    v.nullable(v.string()),
    d('The decision whose review closes or reopens a half-open breaker.'),
  ),
})

/** A problem in a rule file, and its location. */
export const RuleProblem = v.object({
  file: v.pipe(v.string(), d('Name of the file.')),
  line: v.pipe(v.number(), d('Line number, from 1.')),
  column: v.pipe(v.number(), d('Column number, from 1.')),
  message: v.pipe(v.string(), d('The problem, and what was probably meant.')),
})
export type RuleProblem = v.InferOutput<typeof RuleProblem>

/** A record schema would accept a list, and drop keys such as `constructor`. Rules and audit trail must see what was sent. */
export const Context = v.pipe(
  v.unknown() as v.GenericSchema<Record<string, unknown>>,
  v.check((value) => value !== null && typeof value === 'object' && !Array.isArray(value), 'an object'),
  // For JSON Schema, which can't express the check.
  v.metadata({ type: 'object', additionalProperties: {} }),
)

/** Stakes as given by the caller; rules see whether they were given. */
export const givenStakes = v.pipe(
  v.optional(Stakes),
  d('What is at risk; by default `medium`.'),
  v.metadata({ default: 'medium' }),
)

/** A proposed action, as checkGuardrails and preAction take it. */
export const ActionParams = v.object({
  description: v.pipe(nonEmptyText(10_000), d('What the agent intends to do.')),
  category: v.pipe(v.nullish(nonEmptyText(64), null), d('Decision category.')),
  stakes: givenStakes,
  confidence: v.pipe(v.nullish(fraction, null), d('How sure the agent is, 0 to 1.')),
  tags: v.optional(v.pipe(v.array(nonEmptyText(64)), v.maxLength(50, 'at most 50 entries')), () => []),
  project: v.pipe(v.nullish(nonEmptyText(256), null), d('Project that the action belongs to.')),
  pr: v.pipe(
    v.nullish(v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1')), null),
    d('Pull request of the project.'),
  ),
  scope: v.pipe(v.nullish(nonEmptyText(256), null), d('Also applies the rules of this scope.')),
  context: v.pipe(
    v.optional(Context, () => ({})),
    d('Fields for conditions; at most 64 KiB and 8 levels deep.'),
  ),
})
export type ActionParams = v.InferOutput<typeof ActionParams>
