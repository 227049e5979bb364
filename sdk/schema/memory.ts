/** Results of the memory methods. */
import * as v from 'valibot'
import { fraction } from './decision.ts'

const d = v.description

/** Lessons of a category: how often it succeeds, by which principles, and how it fails. */
export const WisdomEntry = v.object({
  category: v.string(),
  decisions: v.pipe(v.number(), d('Reviewed decisions.')),
  success_rate: v.pipe(v.nullable(fraction), d('Mean result; null where nothing is scored.')),
  key_principles: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The wording nearest to all that say the same.')),
        confirmations: v.pipe(
          v.number(),
          d('Successes that confirm it, at least two: of one recorder only those that others reviewed.'),
        ),
        failures: v.pipe(v.number(), d('Failures with it, fewer than confirmations.')),
        recorders: v.pipe(v.number(), d('Agents that recorded a success with it.')),
        confirmed_by: v.pipe(
          v.array(v.string()),
          d('Agents whose word the confirmations are, the most frequent first.'),
        ),
        source: v.pipe(
          v.picklist(['statement', 'decisions']),
          d(
            '`statement`: patterns, reasons of type `pattern`, and lessons. `decisions`: where none of them is confirmed, decisions that are alike.',
          ),
        ),
        example_ids: v.pipe(v.array(v.string()), d('Newest of the confirmations.')),
      }),
    ),
    d('What succeeded more often than it failed, for several agents or by the reviews of others.'),
  ),
  common_failure_mode: v.pipe(v.nullable(v.string()), d('The first of `failure_modes`; null without any.')),
  failure_modes: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The wording nearest to all that say the same.')),
        source: v.pipe(
          v.picklist(['lesson', 'result']),
          d('Whether it is the lesson that they drew, or, where none was drawn twice, what happened.'),
        ),
        failures: v.pipe(v.number(), d('Failures that say so, at least two.')),
        example_ids: v.pipe(v.array(v.string()), d('Newest of them.')),
      }),
    ),
    d('How failures are alike, the most frequent first.'),
  ),
  avg_confidence: v.pipe(v.nullable(fraction), d('Mean stated confidence.')),
  brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
})
export type WisdomEntry = v.InferOutput<typeof WisdomEntry>

/** Something that needs attention, with its reason. */
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

/** Two live decisions that contradict each other. */
export const Contradiction = v.object({
  first_id: v.pipe(v.string(), d('One decision.')),
  second_id: v.pipe(v.string(), d('The other.')),
  first_title: v.pipe(v.string(), d('Title of the first.')),
  second_title: v.pipe(v.string(), d('Title of the second.')),
  category: v.pipe(v.nullable(v.string()), d('Category of the first; null if it has none.')),
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
