/** The decision record: what is stored in its YAML file and what getDecision answers. */
import * as v from 'valibot'

const d = v.description

/** Text without a lone surrogate: anything else can't be kept as UTF-8 without loss. */
export const text = (max: number, min = 0) =>
  v.pipe(
    v.string(),
    v.check((value) => value.isWellFormed(), 'well-formed Unicode text (no lone surrogate)'),
    v.minLength(min, min === 1 ? 'text that is not empty' : `at least ${min} characters`),
    v.maxLength(max, `at most ${max} characters`),
  )

/** Text with at least one character that is not white space. */
export const filledText = (max: number) =>
  v.pipe(
    text(max, 1),
    v.check((value) => value.trim() !== '', 'text that is not blank'),
  )

/** A number from 0 to 1, both included. */
export const fraction = v.pipe(
  v.number(),
  v.finite('a number from 0 to 1'),
  v.minValue(0, 'a number from 0 to 1'),
  v.maxValue(1, 'a number from 0 to 1'),
)

export const stakesValues = ['low', 'medium', 'high', 'critical'] as const
export const outcomeValues = ['success', 'failure', 'partial', 'abandoned'] as const
export const statusValues = ['pending', 'reviewed'] as const

export const Stakes = v.picklist(stakesValues)
export type Stakes = v.InferOutput<typeof Stakes>
export const Outcome = v.picklist(outcomeValues)
export type Outcome = v.InferOutput<typeof Outcome>
export const Status = v.picklist(statusValues)
export type Status = v.InferOutput<typeof Status>

export const Category = v.pipe(filledText(64), d('Open list: architecture, process, tooling, trading, deployment …'))

export const Reason = v.object({
  type: v.pipe(
    filledText(64),
    d('Kind of reason: technical, risk, constraint, authority, analogy, analysis, pattern, intuition …'),
  ),
  text: v.pipe(text(10_000), d('The reason itself.')),
  strength: v.pipe(v.optional(fraction, 0.8), d('Weight from 0 to 1.')),
})
export type Reason = v.InferOutput<typeof Reason>

const features = v.optional(v.pipe(v.array(text(1_000)), v.maxLength(100, 'at most 100 entries')), () => [])

export const Bridge = v.object({
  structure: v.pipe(filledText(10_000), d('What the decision looks like: its pattern.')),
  function: v.pipe(filledText(10_000), d('What problem it solves: its purpose.')),
  tolerance: v.pipe(features, d('Features that do not matter.')),
  enforcement: v.pipe(features, d('Features that must be present.')),
  prevention: v.pipe(features, d('Features that must be absent.')),
})
export type Bridge = v.InferOutput<typeof Bridge>

export const Project = v.object({
  name: v.pipe(v.nullish(filledText(256), null), d('Project, often owner/repo.')),
  feature: v.pipe(v.nullish(filledText(256), null), d('Feature of the project.')),
  pr: v.pipe(
    v.nullish(v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1')), null),
    d('Pull request number.'),
  ),
  files: v.pipe(
    v.optional(v.pipe(v.array(filledText(1_024)), v.maxLength(1_000, 'at most 1000 files')), () => []),
    d('Paths that the decision concerns.'),
  ),
})
export type Project = v.InferOutput<typeof Project>

export const DeliberationInput = v.looseObject({ type: v.string(), content: v.string() })
export const DeliberationStep = v.looseObject({ step: v.number(), thought: v.string() })
export const Deliberation = v.object({ inputs: v.array(DeliberationInput), steps: v.array(DeliberationStep) })
export type Deliberation = v.InferOutput<typeof Deliberation>

/** The kinds of edge between two decisions. */
export const edgeTypes = [
  'relates_to',
  'supersedes',
  'depends_on',
  'contradicts',
  'refines',
  'caused_by',
  'blocks',
] as const
export const EdgeType = v.picklist(edgeTypes)
export type EdgeType = v.InferOutput<typeof EdgeType>

/** An edge as its source's record carries it. */
export const Link = v.object({
  target_id: v.string(),
  edge_type: EdgeType,
  weight: fraction,
  context: v.nullable(v.string()),
  created_at: v.string(),
  created_by: v.string(),
})
export type Link = v.InferOutput<typeof Link>

export const Review = v.object({
  outcome: Outcome,
  actual_result: v.nullable(v.string()),
  lessons: v.nullable(v.string()),
  notes: v.nullable(v.string()),
  reviewed_at: v.string(),
  reviewed_by: v.string(),
})
export type Review = v.InferOutput<typeof Review>

export const Revision = v.object({
  updated_at: v.string(),
  updated_by: v.string(),
  fields: v.array(v.string()),
  old_values: v.record(v.string(), v.unknown()),
})
export type Revision = v.InferOutput<typeof Revision>

const nullableText = v.nullable(v.string())

export const DecisionRecord = v.object({
  id: v.pipe(v.string(), d('`<yyyy-mm-dd>-decision-<12 hex>`; opaque.')),
  title: v.pipe(v.string(), d('Decision text cut at 120 characters on a word.')),
  decision: v.pipe(v.string(), d('Decision text.')),
  category: v.string(),
  confidence: v.pipe(fraction, d('How sure the agent was, 0 to 1.')),
  stakes: Stakes,
  status: v.pipe(Status, d('`pending` until the first review.')),
  outcome: v.nullable(Outcome),
  date: v.pipe(v.string(), d('Day of `created_at`, UTC.')),
  context: nullableText,
  reasons: v.array(Reason),
  alternatives_considered: v.array(v.union([v.string(), v.looseObject({ option: v.string() })])),
  review_in: v.pipe(v.string(), d('Review cadence, such as 24h, 3d, 7d, 30d.')),
  review_by: v.pipe(v.string(), d('Day on which the review is due.')),
  project: v.nullable(Project),
  reasoning_trace: v.array(v.union([v.string(), v.looseObject({ step: v.number(), thought: v.string() })])),
  bridge: Bridge,
  bridge_method: v.pipe(v.picklist(['rule', 'given']), d('`rule` when it was extracted from the text.')),
  deliberation: v.nullable(Deliberation),
  tags: v.array(v.string()),
  pattern: v.pipe(nullableText, d('The abstract principle behind the decision.')),
  pre_decision_protocol: v.nullable(v.looseObject({ query_run: v.boolean(), guardrails_checked: v.boolean() })),
  quality: v.object({ score: fraction, suggestions: v.array(v.string()) }),
  related_to: v.array(v.object({ id: v.string(), summary: v.string(), distance: v.nullable(v.number()) })),
  links: v.array(Link),
  recorded_by: v.pipe(v.string(), d('The authenticated agent that recorded it.')),
  agent_id: v.pipe(nullableText, d('Identity that the caller gave beside its credentials; never trusted.')),
  imported_by: nullableText,
  source_key: v.pipe(nullableText, d('Key in the system that the decision was imported from.')),
  created_at: v.pipe(v.string(), d('RFC 3339, UTC.')),
  updated_at: v.string(),
  actual_result: nullableText,
  lessons: nullableText,
  review_notes: nullableText,
  reviewed_at: nullableText,
  reviewed_by: nullableText,
  confidence_at_review: v.pipe(
    v.nullable(fraction),
    d('Confidence that stood at the first review; calibration scores this one.'),
  ),
  review_history: v.array(Review),
  revisions: v.array(Revision),
  preserve: v.pipe(v.boolean(), d('True keeps the record at full detail in compaction.')),
  auto_attributed: v.boolean(),
  attribution_reason: nullableText,
})
export type DecisionRecord = v.InferOutput<typeof DecisionRecord>
