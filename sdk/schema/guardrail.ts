/** Guardrail files: rules and circuit breakers, as an operator writes them in YAML. */
import * as v from 'valibot'
import { Condition } from './condition.ts'
import { nonEmptyText } from './decision.ts'

export * from './condition.ts'

const d = v.description
const positive = v.pipe(v.number(), v.finite('a number'), v.gtValue(0, 'a number above 0'))
const count = v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1'))
const name = nonEmptyText(256)
const duration = v.pipe(v.string(), v.regex(/^[1-9]\d{0,4}[smhdw]$/, 'a duration such as 30m, 1h or 7d'))

/** Actions of a violated rule, the strictest first; the strictest of all rules is the verdict. */
export const ruleActions = ['block', 'defer', 'step_up', 'modify', 'warn', 'log'] as const

/** Who approves an action, and for how long an approval counts. */
export const StepUp = v.strictObject({
  approvers: v.pipe(
    v.optional(v.array(name), () => []),
    d('People or roles that may approve; by default anyone with the scope `approve`.'),
  ),
  expires: v.pipe(v.optional(duration, '1h'), d('How long the request waits; without an answer it is denied.')),
  remember: v.pipe(
    v.optional(
      v.pipe(v.string(), v.regex(/^(?:none|exact:[1-9]\d{0,4}[smhdw])$/, '`none`, or `exact:` and a duration')),
      'none',
    ),
    d('`none`: an approval is valid for one evaluation. `exact:24h`: the same request is allowed for that long.'),
  ),
  separation: v.pipe(
    v.optional(v.boolean(), true),
    d('Also excludes the one on whose behalf the requester claims to act. The requester can never approve.'),
  ),
  max_age: v.optional(
    v.pipe(
      duration,
      d('The approver must have logged in at the issuer within this time; a token of the service does not suffice.'),
    ),
  ),
  acr: v.optional(
    v.pipe(
      v.array(name),
      v.minLength(1, 'at least one'),
      d('The approver must have logged in at the issuer in one of these ways (authentication context classes).'),
    ),
  ),
})
export type StepUp = v.InferOutput<typeof StepUp>

/** Why an action can't be decided now. */
export const Defer = v.strictObject({
  reason: v.pipe(nonEmptyText(2_000), d('What is not known yet.')),
  expires: v.pipe(v.optional(duration, '1h'), d('After this time the same action is denied, for a day.')),
})

/** An option of a command that is replaced by a safer one. */
export const OptionChange = v.strictObject({
  program: v.pipe(nonEmptyText(128), d('The program, such as `git`.')),
  subcommand: v.optional(v.pipe(nonEmptyText(256), d('Its first words, such as `push`.'))),
  from: v.pipe(
    v.array(v.pipe(v.string(), v.regex(/^-{1,2}[A-Za-z][\w-]*$/, 'an option such as --force'))),
    v.minLength(1, 'at least one option'),
    d('Spellings of the option.'),
  ),
  to: v.pipe(
    v.string(),
    v.regex(/^-{1,2}[A-Za-z][\w=-]*$/, 'an option such as --force-with-lease'),
    d('The option instead.'),
  ),
})
export type OptionChange = v.InferOutput<typeof OptionChange>

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
  options: v.pipe(
    v.optional(v.array(OptionChange), () => []),
    d(
      'Options to replace in `context.command`, and where the input of the tool holds it. A command that does not say them plainly is denied.',
    ),
  ),
})
export type Modify = v.InferOutput<typeof Modify>

/** An observed event of the action's pull request or commit. */
export const EvidenceRequirement = v.strictObject({
  evidence: v.pipe(nonEmptyText(128), d('Type of the event, such as `pr_review_approved`.')),
  by: v.optional(v.pipe(v.picklist(['human', 'bot']), d('Kind of account that caused it.'))),
  not_by: v.optional(v.pipe(v.picklist(['author']), d('Not by the author of the pull request.'))),
  within: v.optional(v.pipe(duration, d('Maximum age of the event.'))),
  for: v.optional(v.pipe(name, d('Field that names the pull request or the commit; by default the action’s own.'))),
  conclusion: v.optional(v.pipe(name, d('Required conclusion, such as `success`.'))),
  check: v.optional(v.pipe(name, d('Name of the check that must have it; the others must not contradict it.'))),
  app: v.optional(v.pipe(name, d('App that must have reported it, such as `github-actions`.'))),
})
export type EvidenceRequirement = v.InferOutput<typeof EvidenceRequirement>

/** An approval by another person. */
export const ApprovalRequirement = v.strictObject({
  approval: v.pipe(name, d('Person or role that must approve.')),
})

/** A guardrail: when its conditions hold, its requirements must be true. */
export const Rule = v.strictObject({
  id: v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'letters, digits and . _ : - (at most 128)'),
    d('Unique across all files.'),
  ),
  name: v.optional(v.pipe(name, d('Short name, shown in violations.'))),
  description: v.optional(v.pipe(nonEmptyText(2_000), d('Its purpose.'))),
  action: v.pipe(v.optional(v.picklist(ruleActions), 'block'), d('The effect of a violation.')),
  mode: v.pipe(
    v.optional(v.picklist(['enforce', 'shadow']), 'enforce'),
    d('`shadow`: the rule is evaluated and written to the audit trail, but blocks nothing.'),
  ),
  step_up: v.optional(v.pipe(StepUp, d('With `action: step_up`: who approves.'))),
  defer: v.optional(v.pipe(Defer, d('With `action: defer`: why it can’t be judged now.'))),
  modify: v.optional(v.pipe(Modify, d('With `action: modify`: what changes.'))),
  hide: v.optional(
    v.pipe(
      v.literal(true),
      d(
        'The gateway does not list tools that this rule stops, so the model does not see them. For rules about tools and servers, not about inputs.',
      ),
    ),
  ),
  record: v.optional(
    v.pipe(v.literal('decision'), d('Hooks record an action that this rule applies to as a decision.')),
  ),
  scope: v.optional(
    v.pipe(
      v.union([name, v.pipe(v.array(name), v.minLength(1, 'at least one scope'))]),
      d('Projects or scopes to which the rule applies; by default all.'),
    ),
  ),
  message: v.optional(v.pipe(nonEmptyText(2_000), d('Message for the caller.'))),
  tag: v.optional(
    v.pipe(
      v.union([name, v.pipe(v.array(name), v.minLength(1, 'at least one tag'))]),
      d('Classifications added to the session (`session.classifications`) if the rule fires on an allowed action.'),
    ),
  ),
  suggestion: v.optional(v.pipe(nonEmptyText(2_000), d('What the caller can do.'))),
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
    d('Evidence and approvals without which the rule is violated. Context fields do not satisfy them.'),
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
  self_review: v.pipe(
    v.optional(v.boolean(), false),
    d(
      'True lets the recorder of a probe close the breaker by its own review; otherwise it takes another agent or evidence.',
    ),
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
    d('Templates to load: `templates/<name>.yaml` next to the file, or a built-in one.'),
  ),
})
export type RuleFile = v.InferOutput<typeof RuleFile>
