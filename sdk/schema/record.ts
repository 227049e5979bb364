/** Parameters and result of recordDecision. */
import * as v from 'valibot'
import {
  Bridge,
  Category,
  DeliberationInput,
  DeliberationStep,
  fraction,
  nonEmptyText,
  Project,
  Quality,
  Reason,
  text,
} from './decision.ts'
import { ThreadId, whole } from './params.ts'
import { Context, givenStakes, PresentVerdict, Violation } from './policy.ts'

/** Form of a review cadence: a number of hours, days, weeks or months. */
const reviewInForm = /^[1-9]\d{0,3}[hdwm]$/

const d = v.description

/** Whether a given bridge has less weight in searches. */
export const BridgeTooFar = v.pipe(
  v.boolean(),
  d(
    'True if a side of the given bridge is far from the decision text; it is searched beside the text, with less weight.',
  ),
)
const listUpTo = <T extends v.GenericSchema>(item: T, most: number) =>
  v.optional(v.pipe(v.array(item), v.maxLength(most, `at most ${most} entries`)), () => [])

const Protocol = v.looseObject({
  query_run: v.pipe(v.optional(v.boolean(), false), d('Precedents were queried before.')),
  guardrails_checked: v.pipe(v.optional(v.boolean(), false), d('Guardrails were checked before.')),
})

const GivenDeliberation = v.object({
  inputs: listUpTo(v.looseObject({ ...DeliberationInput.entries, content: text(10_000) }), 200),
  steps: listUpTo(v.looseObject({ ...DeliberationStep.entries, thought: text(10_000) }), 1_000),
})

/** Parameters of recordDecision. */
export const RecordParams = v.object({
  decision: v.pipe(nonEmptyText(10_000), d('What was decided.')),
  confidence: v.pipe(
    v.nullable(fraction),
    d('How sure you are that it will turn out well, 0 to 1; null only in an import.'),
  ),
  category: v.pipe(
    v.nullable(Category),
    d(
      'Open list: architecture, process, tooling, trading, deployment …; null only in an import, and then the decision is in no figure by category.',
    ),
  ),
  stakes: givenStakes,
  context: v.pipe(v.nullish(text(100_000), null), d('The situation in which it was decided.')),
  action_context: v.pipe(
    v.optional(Context, () => ({})),
    d('The `context` for rules; at most 64 KiB and 8 levels deep.'),
  ),
  scope: v.pipe(v.nullish(nonEmptyText(256), null), d('Also applies the rules of this scope; not stored.')),
  reasons: v.pipe(listUpTo(Reason, 100), d('Why.')),
  alternatives_considered: v.pipe(
    listUpTo(v.union([text(10_000), v.looseObject({ option: text(10_000), reason: v.optional(text(10_000)) })]), 50),
    d('Rejected alternatives: texts, or objects with `option` and `reason`.'),
  ),
  review_in: v.pipe(
    v.optional(
      v.pipe(v.string(), v.regex(reviewInForm, 'a number of hours, days, weeks or months such as 24h, 7d, 2w, 1m')),
      '7d',
    ),
    d('When the outcome should be reviewed.'),
  ),
  reasoning_trace: v.pipe(
    listUpTo(v.union([text(10_000), v.looseObject({ step: v.number(), thought: text(10_000) })]), 1_000),
    d('Steps of the reasoning: texts, or objects with `step` and `thought`.'),
  ),
  bridge: v.pipe(
    v.nullish(Bridge, null),
    d('What the decision looks like and what it is for; extracted from the text if not given.'),
  ),
  pre_decision_protocol: v.pipe(
    v.nullish(Protocol, null),
    d('Steps before the decision; marked `given`, so they satisfy no rule.'),
  ),
  deliberation: v.pipe(
    v.nullish(GivenDeliberation, null),
    d('Inputs and steps that led to the decision; marked `given`, they satisfy no rule.'),
  ),
  tags: v.pipe(listUpTo(nonEmptyText(64), 50), d('Tags.')),
  pattern: v.pipe(v.nullish(text(10_000), null), d('The abstract principle behind it.')),
  project: v.pipe(
    v.nullish(
      v.union([
        v.pipe(
          nonEmptyText(256),
          v.transform((name): Project => ({ name, feature: null, pr: null, files: [] })),
        ),
        Project,
      ]),
      null,
    ),
    d('The project concerned: an object, or `owner/repo`.'),
  ),
  agent_id: v.pipe(v.nullish(nonEmptyText(256), null), d('Identity besides the credentials; recorded, never trusted.')),
  decision_id: v.pipe(v.nullish(nonEmptyText(256), null), d('The `tracker_scope` of the deliberation to attach.')),
  idempotency_key: v.pipe(
    v.nullish(nonEmptyText(256), null),
    d('The same key within 24 hours returns the first result.'),
  ),
  created_at: v.pipe(
    v.nullish(v.string(), null),
    d('Import only (scope admin): when it was decided, RFC 3339 or a day.'),
  ),
  recorded_by: v.pipe(v.nullish(nonEmptyText(256), null), d('Import only (scope admin): the agent that decided.')),
  confidence_at_record: v.pipe(
    v.optional(v.nullable(fraction)),
    d('Import only (scope admin): the confidence that is scored, if `confidence` was changed since; null: not scored.'),
  ),
  source_key: v.pipe(
    v.nullish(nonEmptyText(256), null),
    d('Import only (scope admin): key in the system of origin; a second record of it returns the first.'),
  ),
})
export type RecordParams = v.InferOutput<typeof RecordParams>

/** The fields that updateDecision changes. */
export const RecordUpdates = {
  decision: v.optional(nonEmptyText(10_000)),
  confidence: v.optional(v.pipe(fraction, d('Stored and shown; scores use the confidence at recording.'))),
  category: v.optional(v.pipe(Category, d('Of a decision that has none yet, before its outcome is known.'))),
  context: v.optional(v.nullable(text(100_000))),
  tags: v.optional(v.pipe(v.array(nonEmptyText(64)), v.maxLength(50, 'at most 50 entries'))),
  pattern: v.optional(v.nullable(text(10_000))),
  reasons: v.optional(v.pipe(v.array(Reason), v.maxLength(100, 'at most 100 entries'))),
  bridge: v.optional(Bridge),
  project: v.optional(
    v.pipe(
      v.object({
        name: v.optional(v.pipe(nonEmptyText(256), d('As owner/repo.'))),
        feature: v.optional(v.pipe(v.nullable(nonEmptyText(256)), d('Feature.'))),
        pr: v.optional(v.pipe(whole(1, Number.MAX_SAFE_INTEGER), d('Pull request.'))),
      }),
      v.check((value) => Object.keys(value).length > 0, 'name, feature or pr'),
      d('Project and pull request of the decision; name and pr can be set only once, before the merge.'),
    ),
  ),
}

/** Result of recordDecision. */
export const RecordResult = v.object({
  success: v.boolean(),
  decision_id: v.string(),
  record_id: ThreadId,
  path: v.optional(
    v.pipe(v.string(), d('Path of the YAML file, relative to the data directory; absent if the store has none.')),
  ),
  indexed: v.pipe(v.boolean(), d('Whether it is already in the semantic index; keyword search always finds it.')),
  existing: v.pipe(v.boolean(), d('True if the source key was already recorded; nothing was written.')),
  guardrails_checked: v.boolean(),
  guardrail_warnings: v.pipe(v.array(Violation), d('Violations and warnings that did not block it.')),
  bridge_auto: v.pipe(v.boolean(), d('Whether the bridge was extracted.')),
  bridge_too_far: v.optional(BridgeTooFar),
  deliberation_auto: v.pipe(v.boolean(), d('Whether a tracked deliberation was attached.')),
  deliberation_inputs_count: v.number(),
  related_count: v.number(),
  quality: Quality,
  message: v.string(),
  replayed: v.pipe(v.optional(v.literal(true)), d('True if this is the answer of an earlier call with the same key.')),
  present: v.optional(PresentVerdict),
})
export type RecordResult = v.InferOutput<typeof RecordResult>
