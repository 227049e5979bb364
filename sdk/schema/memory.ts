/** What the memory methods return. */
import * as v from 'valibot'
import { fraction } from './decision.ts'

const d = v.description

/** What a category taught: how often it succeeds, by which principles, and how it fails. */
export const WisdomEntry = v.object({
  category: v.string(),
  decisions: v.pipe(v.number(), d('Reviewed decisions.')),
  success_rate: v.pipe(v.nullable(fraction), d('Mean result; null where nothing is scored.')),
  key_principles: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The pattern.')),
        confirmations: v.pipe(
          v.number(),
          d('Successes that confirm it: of one recorder only those that others reviewed.'),
        ),
        example_ids: v.pipe(v.array(v.string()), d('Newest of them.')),
      }),
    ),
    d('Patterns that succeeded more often than they failed, for several agents or by the reviews of others.'),
  ),
  common_failure_mode: v.pipe(v.nullable(v.string()), d('The lesson drawn most often from failures.')),
  avg_confidence: v.pipe(v.nullable(fraction), d('Mean stated confidence.')),
  brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
})
export type WisdomEntry = v.InferOutput<typeof WisdomEntry>

/** Something that is to be done, with its reason. */
export const ReadyAction = v.object({
  type: v.picklist(['review_outcome', 'stale_pending', 'calibration_drift', 'open_breaker', 'contradiction']),
  priority: v.pipe(v.picklist(['low', 'medium', 'high']), d('How soon it should be done.')),
  decision_id: v.pipe(v.nullable(v.string()), d('The decision concerned.')),
  category: v.pipe(v.nullable(v.string()), d('The category concerned.')),
  date: v.pipe(v.nullable(v.string()), d('Day of the decision.')),
  title: v.pipe(v.nullable(v.string()), d('Its title.')),
  reason: v.pipe(v.string(), d('Why it is to be done.')),
  suggestion: v.pipe(v.string(), d('What to do.')),
  detail: v.pipe(v.record(v.string(), v.unknown()), d('Figures behind it.')),
})
export type ReadyAction = v.InferOutput<typeof ReadyAction>

/** Two live decisions that speak against each other. */
export const Contradiction = v.object({
  first_id: v.pipe(v.string(), d('One decision.')),
  second_id: v.pipe(v.string(), d('The other.')),
  first_title: v.pipe(v.string(), d('Title of the first.')),
  second_title: v.pipe(v.string(), d('Title of the second.')),
  category: v.pipe(v.string(), d('Category of the first.')),
  reason: v.pipe(v.string(), d('Why they contradict each other.')),
})
export type Contradiction = v.InferOutput<typeof Contradiction>

/** Decisions at each level of detail. */
export const LevelCounts = v.object({
  full: v.pipe(v.number(), d('Younger than 7 days, pending or preserved.')),
  summary: v.pipe(v.number(), d('Younger than 30 days.')),
  digest: v.pipe(v.number(), d('Younger than 90 days.')),
  wisdom: v.pipe(v.number(), d('Older.')),
})
export type LevelCounts = v.InferOutput<typeof LevelCounts>
