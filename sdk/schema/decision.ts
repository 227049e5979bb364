/** The decision record: what its YAML file stores and getDecision returns. */
import * as v from 'valibot'
import { Hold } from './hold.ts'
import { observedEntries } from './observed.ts'
import { outcomeValues, stakesValues, statusValues } from './values.ts'
import { RecordedVerdict } from './verdict.ts'

export * from './values.ts'

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
export const nonEmptyText = (max: number) =>
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

/** What is at risk. */
export const Stakes = v.picklist(stakesValues)
/** What is at risk. */
export type Stakes = v.InferOutput<typeof Stakes>
/** How a decision turned out. */
export const Outcome = v.picklist(outcomeValues)
/** How a decision turned out. */
export type Outcome = v.InferOutput<typeof Outcome>
/** Whether a decision has been reviewed. */
export const Status = v.picklist(statusValues)
/** Whether a decision has been reviewed. */
export type Status = v.InferOutput<typeof Status>

/** What kind of decision it is: an open list. */
export const Category = v.pipe(nonEmptyText(64), d('Open list: architecture, process, tooling, trading, deployment …'))

/** A reason for the decision, with its kind and weight. */
export const Reason = v.object({
  type: v.pipe(nonEmptyText(64), d('technical, risk, constraint, authority, analogy, analysis, pattern, intuition …')),
  text: v.pipe(text(10_000), d('The reason itself.')),
  strength: v.pipe(v.optional(fraction, 0.8), d('Weight from 0 to 1.')),
})
/** A reason for the decision, with its kind and weight. */
export type Reason = v.InferOutput<typeof Reason>

const features = v.optional(v.pipe(v.array(text(1_000)), v.maxLength(100, 'at most 100 entries')), () => [])

/** What a decision looks like and what it is for. */
export const Bridge = v.object({
  structure: v.pipe(nonEmptyText(10_000), d('What the decision looks like: its pattern.')),
  function: v.pipe(nonEmptyText(10_000), d('What problem it solves: its purpose.')),
  tolerance: v.pipe(features, d('Features that are irrelevant.')),
  enforcement: v.pipe(features, d('Features that must be present.')),
  prevention: v.pipe(features, d('Features that must be absent.')),
})
/** What a decision looks like and what it is for. */
export type Bridge = v.InferOutput<typeof Bridge>

/** Where a decision belongs: repository, feature, pull request, files. */
export const Project = v.object({
  name: v.pipe(v.nullish(nonEmptyText(256), null), d('Project, often owner/repo.')),
  feature: v.pipe(v.nullish(nonEmptyText(256), null), d('Feature of the project.')),
  pr: v.pipe(
    v.nullish(v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1')), null),
    d('Pull request number.'),
  ),
  files: v.pipe(
    v.optional(v.pipe(v.array(nonEmptyText(1_024)), v.maxLength(1_000, 'at most 1000 files')), () => []),
    d('Paths concerned by the decision.'),
  ),
})
/** Where a decision belongs: repository, feature, pull request, files. */
export type Project = v.InferOutput<typeof Project>

/** Something that was asked, checked or read before the decision. */
export const DeliberationInput = v.looseObject({ type: v.string(), content: v.string() })
/** One step on the way to the decision. */
export const DeliberationStep = v.looseObject({ step: v.number(), thought: v.string() })
/** How a decision came about. */
export const Deliberation = v.object({
  inputs: v.array(DeliberationInput),
  steps: v.array(DeliberationStep),
  given: v.optional(
    v.pipe(
      v.boolean(),
      d('True if the caller supplied parts of it. These parts are marked as well, and satisfy no rule.'),
    ),
  ),
})
/** How a decision came about. */
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
/** Relation of one decision to another. */
export const EdgeType = v.picklist(edgeTypes)
/** Relation of one decision to another. */
export type EdgeType = v.InferOutput<typeof EdgeType>

/** Fields of an edge in addition to its ends and its type. */
export const linkFields = {
  weight: fraction,
  context: v.pipe(v.nullable(v.string()), d('Why they are linked.')),
  created_at: v.string(),
  created_by: v.pipe(v.string(), d('The agent that created it; only this agent may replace it.')),
  effective: v.pipe(
    v.boolean(),
    d(
      'False for a dismissed contradiction, and for a `supersedes` that was created neither by the recorder of its target nor by a curator; ranking ignores such an edge.',
    ),
  ),
}

/** Who dismissed an automatic contradiction, and why. */
const Dismissal = v.object({
  by: v.pipe(v.string(), d('The agent that dismissed it.')),
  at: v.pipe(v.string(), d('When it was dismissed, RFC 3339.')),
  reason: v.pipe(v.nullable(v.string()), d('Why.')),
})

/** An edge in the record of its source. */
export const Link = v.object({
  target_id: v.string(),
  edge_type: EdgeType,
  ...linkFields,
  dismissed: v.optional(
    v.pipe(
      Dismissal,
      d('Only on a dismissed automatic `contradicts`, which is kept without effect and not reported again.'),
    ),
  ),
})
/** An edge in the record of its source. */
export type Link = v.InferOutput<typeof Link>

/** Basis of an attributed outcome. */
export const AttributionBasis = v.picklist(['evidence', 'inferred', 'age'])
export type AttributionBasis = v.InferOutput<typeof AttributionBasis>

/** What evidence says about the outcome of a decision that nobody has reviewed. */
export const Proposal = v.object({
  outcome: v.pipe(v.nullable(Outcome), d('The outcome for a person to accept; null while the evidence is not clear.')),
  reason: v.pipe(v.string(), d('What is known, as one sentence without its period.')),
})
export type Proposal = v.InferOutput<typeof Proposal>

/** One review in the history. */
export const Review = v.object({
  outcome: Outcome,
  actual_result: v.nullable(v.string()),
  lessons: v.nullable(v.string()),
  notes: v.nullable(v.string()),
  reviewed_at: v.string(),
  reviewed_by: v.string(),
  self_reviewed: v.pipe(v.boolean(), d('Whether the recorder reviewed its own decision.')),
  curated: v.optional(
    v.pipe(v.boolean(), d('True for a review by a curator who gave a reason, which outweighs evidence.')),
  ),
  basis: v.pipe(v.nullable(AttributionBasis), d('Basis of an attributed outcome; null for a review.')),
  counts: v.pipe(
    v.boolean(),
    d('Whether this review determines the outcome of the decision; exactly one review does.'),
  ),
})
/** One review in the history. */
export type Review = v.InferOutput<typeof Review>

/** One update: who changed what, and the previous values, or their digest if they are too old to be kept. */
export const Revision = v.object({
  updated_at: v.string(),
  updated_by: v.string(),
  fields: v.array(v.string()),
  old_values: v.pipe(
    v.nullable(v.record(v.string(), v.unknown())),
    d('The previous values; null for updates older than the newest 200.'),
  ),
  digest: v.pipe(v.string(), d('SHA-256 of the previous values, as JSON with sorted keys.')),
})
/** One update: who changed what, and the previous values. */
export type Revision = v.InferOutput<typeof Revision>

const nullableText = v.nullable(v.string())

/** How complete a record is. */
export const Quality = v.object({ score: fraction, suggestions: v.array(v.string()) })

/** A precedent that was found before deciding. */
export const RelatedDecision = v.object({ id: v.string(), summary: v.string(), distance: v.nullable(v.number()) })

/** A decision with everything stored about it; its YAML file contains exactly this. */
export const DecisionRecord = v.object({
  id: v.pipe(v.string(), d('`<yyyy-mm-dd>-decision-<12 hex>`; opaque.')),
  title: v.pipe(v.string(), d('Decision text, truncated to 120 characters at a word boundary.')),
  decision: v.pipe(v.string(), d('Decision text.')),
  category: v.pipe(
    v.nullable(v.string()),
    d('Kind of decision; an open list. Null if the agent gave none; the decision is then in no figure by category.'),
  ),
  confidence: v.pipe(v.nullable(fraction), d('How sure the agent is, 0 to 1; null if not stated.')),
  stakes: v.pipe(Stakes, d('What was at risk.')),
  status: v.pipe(Status, d('`pending` until the first review.')),
  outcome: v.pipe(v.nullable(Outcome), d('The outcome; null while pending.')),
  date: v.pipe(v.string(), d('Day of `created_at`, UTC.')),
  context: v.pipe(nullableText, d('The situation in which it was decided.')),
  reasons: v.pipe(v.array(Reason), d('Why.')),
  alternatives_considered: v.array(v.union([v.string(), v.looseObject({ option: v.string() })])),
  review_in: v.pipe(v.string(), d('Time until the review, such as 24h, 3d, 7d, 30d.')),
  review_by: v.pipe(v.string(), d('Due date of the review.')),
  project: v.pipe(v.nullable(Project), d('The project.')),
  reasoning_trace: v.array(v.union([v.string(), v.looseObject({ step: v.number(), thought: v.string() })])),
  bridge: v.pipe(Bridge, d('What the decision looks like and what it is for; semantic search compares these texts.')),
  bridge_method: v.pipe(v.picklist(['rule', 'given']), d('`rule` if it was extracted from the text.')),
  deliberation: v.pipe(v.nullable(Deliberation), d('How the decision came about; append-only.')),
  tags: v.pipe(v.array(v.string()), d('Tags for search and filters.')),
  pattern: v.pipe(nullableText, d('The abstract principle behind the decision.')),
  pre_decision_protocol: v.pipe(
    v.nullable(
      v.looseObject({
        query_run: v.boolean(),
        guardrails_checked: v.boolean(),
        given: v.optional(v.pipe(v.boolean(), d('True if the caller supplied it; it then satisfies no rule.'))),
      }),
    ),
    d(
      'Steps before the decision. With `given: true` the caller states them, which satisfies no rule. Null if the decision was imported without them.',
    ),
  ),
  verdict: v.pipe(v.nullable(RecordedVerdict), d('The verdict at recording; null if none was requested.')),
  quality: Quality,
  related_to: v.array(RelatedDecision),
  links: v.pipe(v.array(Link), d('Edges that start at this decision.')),
  recorded_by: v.pipe(v.string(), d('The authenticated agent that recorded it.')),
  agent_id: v.pipe(nullableText, d('Identity stated by the caller in addition to its credentials; never trusted.')),
  imported_by: v.pipe(nullableText, d('The agent that imported it; null if it was recorded directly.')),
  source_key: v.pipe(nullableText, d('Key in the system from which the decision was imported.')),
  ...observedEntries,
  recorded_at: v.optional(
    v.pipe(v.string(), d('Time of the import, RFC 3339, UTC; only if imported with a `created_at`.')),
  ),
  created_at: v.pipe(v.string(), d('RFC 3339, UTC.')),
  updated_at: v.pipe(v.string(), d('Time of the last change, RFC 3339, UTC.')),
  actual_result: v.pipe(nullableText, d('What happened.')),
  lessons: v.pipe(nullableText, d('What to do differently next time.')),
  review_notes: v.pipe(nullableText, d('Further notes of reviews.')),
  reviewed_at: v.pipe(nullableText, d('Time of the effective review, RFC 3339, UTC.')),
  reviewed_by: v.pipe(nullableText, d('Author of the effective review.')),
  self_reviewed: v.pipe(
    v.nullable(v.boolean()),
    d('Whether the effective review is by the recorder; null while pending.'),
  ),
  curated: v.optional(v.pipe(v.boolean(), d('True if the effective review is by a curator who gave a reason.'))),
  confidence_at_record: v.pipe(
    v.nullable(fraction),
    d('Confidence at recording, used for scores; if null, the decision is not scored.'),
  ),
  confidence_at_review: v.pipe(v.nullable(fraction), d('Confidence at the first review; never scored.')),
  review_history: v.pipe(v.array(Review), d('Every review, oldest first.')),
  breaker_scopes: v.pipe(v.array(v.string()), d('Scopes of the breakers that watch it: as recorded, or named later.')),
  revision_count: v.pipe(v.number(), d('Number of updates; getDecision returns them with `revisions: true`.')),
  preserve: v.pipe(v.boolean(), d('True if compaction keeps the record at full detail.')),
  holds: v.optional(v.pipe(v.array(Hold), d('Legal holds, oldest first; absent if there is none.'))),
  auto_attributed: v.pipe(v.boolean(), d('True if the outcome was attributed instead of reviewed.')),
  attribution_basis: v.pipe(
    v.nullable(AttributionBasis),
    d(
      'Basis of an attributed outcome: observed `evidence` of its pull request, evidence that the service `inferred`, or only the `age` of the decision; null if it was reviewed.',
    ),
  ),
  attribution_reason: v.pipe(nullableText, d('Why the outcome was attributed.')),
})
/** A decision with everything stored about it; its YAML file contains exactly this. */
export type DecisionRecord = v.InferOutput<typeof DecisionRecord>
