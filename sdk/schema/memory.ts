/** Results of the memory methods. */
import * as v from 'valibot'
import { fraction, Proposal } from './decision.ts'

const d = v.description

/** Lessons of a category: how often it succeeds, by which principles, and how it fails. */
export const WisdomEntry = v.object({
  category: v.string(),
  decisions: v.pipe(v.number(), d('Reviewed decisions.')),
  success_rate: v.pipe(v.nullable(fraction), d('Mean result; null if nothing is scored.')),
  key_principles: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The most central of the equivalent statements.')),
        confirmations: v.pipe(
          v.number(),
          d(
            'Successes that confirm it, at least two. If all have the same recorder, only those reviewed by others count.',
          ),
        ),
        failures: v.pipe(v.number(), d('Failures with it; fewer than confirmations.')),
        recorders: v.pipe(v.number(), d('Agents that recorded a success with it.')),
        confirmed_by: v.pipe(v.array(v.string()), d('Agents that the confirmations come from, most frequent first.')),
        source: v.pipe(
          v.picklist(['statement', 'decisions']),
          d(
            '`statement`: patterns, reasons of type `pattern`, and lessons. `decisions`: similar decisions, if no statement is confirmed.',
          ),
        ),
        success_low: v.pipe(fraction, d('Lower bound of the 95 % interval of its share of successes.')),
        success_high: v.pipe(fraction, d('Upper bound of the interval.')),
        example_ids: v.pipe(v.array(v.string()), d('The newest confirmations.')),
        failure_ids: v.pipe(v.array(v.string()), d('The newest failures with it.')),
      }),
    ),
    d('Principles that succeeded more often than they failed, confirmed by several agents or by reviews of others.'),
  ),
  reviews_missing: v.pipe(
    v.number(),
    d('Reviewed successes that are missing for the first principle, at least; 0 if there is one.'),
  ),
  common_failure_mode: v.pipe(v.nullable(v.string()), d('The first of `failure_modes`; null if there are none.')),
  failure_modes: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The most central of the equivalent statements.')),
        source: v.pipe(
          v.picklist(['lesson', 'result']),
          d('Source of the statement: the lessons of the failures, or, if no lesson occurs twice, what happened.'),
        ),
        failures: v.pipe(v.number(), d('Failures with this statement, at least two.')),
        example_ids: v.pipe(v.array(v.string()), d('The newest of them.')),
      }),
    ),
    d('Common causes of failure, most frequent first.'),
  ),
  lessons_used: v.pipe(
    v.array(
      v.object({
        text: v.pipe(v.string(), d('The lesson.')),
        id: v.pipe(v.string(), d('The newest decision from which it was drawn.')),
        successes: v.pipe(
          v.number(),
          d(
            'Successes, of whatever recorder, before which a decision with it was found; none that its recorder claims.',
          ),
        ),
        failures: v.pipe(v.number(), d('Failures before which it was found; fewer than successes.')),
        success_low: v.pipe(fraction, d('Lower bound of the 95 % interval of the share of successes.')),
        success_high: v.pipe(fraction, d('Upper bound of the interval.')),
        example_ids: v.pipe(v.array(v.string()), d('The newest of these successes.')),
      }),
    ),
    d(
      'Lessons that agents found before they decided in this category, and with which they succeeded; most used first.',
    ),
  ),
  avg_confidence: v.pipe(v.nullable(fraction), d('Mean stated confidence.')),
  brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
})
export type WisdomEntry = v.InferOutput<typeof WisdomEntry>

/** Something that needs attention, with its reason. */
export const ReadyAction = v.object({
  type: v.picklist(['review_outcome', 'stale_pending', 'calibration_drift', 'open_breaker', 'contradiction']),
  priority: v.pipe(v.picklist(['low', 'medium', 'high']), d('Urgency of the action.')),
  decision_id: v.pipe(v.nullable(v.string()), d('The decision concerned.')),
  category: v.pipe(v.nullable(v.string()), d('The category concerned.')),
  date: v.pipe(v.nullable(v.string()), d('Day of the decision.')),
  title: v.pipe(v.nullable(v.string()), d('Its title.')),
  reason: v.pipe(v.string(), d('Reason for the action.')),
  suggestion: v.pipe(v.string(), d('What to do.')),
  detail: v.pipe(v.record(v.string(), v.unknown()), d('Figures for the reason.')),
  proposal: v.optional(
    v.pipe(Proposal, d('What evidence says about the outcome of the decision, if it says anything to this caller.')),
  ),
})
export type ReadyAction = v.InferOutput<typeof ReadyAction>

/** Two live decisions that contradict each other. */
export const Contradiction = v.object({
  first_id: v.pipe(v.string(), d('The first decision.')),
  second_id: v.pipe(v.string(), d('The second decision.')),
  first_title: v.pipe(v.string(), d('Title of the first decision.')),
  second_title: v.pipe(v.string(), d('Title of the second decision.')),
  category: v.pipe(v.nullable(v.string()), d('Category of the first decision; null if it has none.')),
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
