/** Parameters that several methods share. */
import * as v from 'valibot'
import { filledText, fraction, Outcome, Stakes, Status, text } from './decision.ts'

const d = v.description

/** Full id, unique prefix or source key of a decision. The metadata lets it be given as `id` or `decision_id`. */
export const DecisionId = v.pipe(
  filledText(256),
  v.metadata({ identifier: true }),
  d('Id, unique prefix of 8 or more characters, or `source_key`.'),
)

/** One end of a link: full id, unique prefix or source key. */
export const LinkEnd = v.pipe(filledText(256), d('Id, unique prefix of 8 or more characters, or `source_key`.'))

/** ISO 8601 day or instant. */
export const DateBound = v.pipe(
  v.string(),
  v.check(
    (value) =>
      /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(value) &&
      boundMs(value, false) !== null,
    'an ISO 8601 date such as 2026-07-01 or 2026-07-01T10:00:00Z',
  ),
)

/**
 * Milliseconds since 1970 of a bound; null if there is no such date. A day means its first or last millisecond, an instant without a zone
 * is UTC.
 */
export function boundMs(value: string, end: boolean): number | null {
  const day = value.slice(0, 10)
  const start = Date.parse(`${day}T00:00:00Z`)
  // Date.parse rolls 31 February over to March; such a day does not exist.
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== day) return null
  if (value.length === 10) return end ? start + 86_399_999 : start
  const zoned = /(?:Z|[+-]\d{2}:?\d{2})$/.test(value.slice(10)) ? value : `${value}Z`
  const ms = Date.parse(zoned.replace(' ', 'T'))
  return Number.isNaN(ms) ? null : ms
}

/** A field of paged results. */
export const shortened = v.optional(
  v.pipe(
    v.boolean(),
    v.description('True if the page ends early because the answer would exceed 32 MiB; continue with the next page.'),
  ),
)

/** A whole number within bounds. */
export const whole = (min: number, max: number) =>
  v.pipe(
    v.number(),
    v.safeInteger('a whole number'),
    v.minValue(min, `at least ${min}`),
    v.maxValue(max, `at most ${max}`),
  )

const listOf = <T extends v.GenericSchema>(item: T) => v.pipe(v.array(item), v.maxLength(100, 'at most 100 entries'))
const name = filledText(256)
const pullRequest = v.pipe(v.number(), v.safeInteger('a whole number'), v.minValue(1, 'at least 1'))

/** The filters of queryDecisions. All that are given must hold. */
export const Filters = v.object({
  category: v.optional(v.pipe(name, d('Only this category.'))),
  min_confidence: v.optional(v.pipe(fraction, d('Minimum confidence (inclusive).'))),
  max_confidence: v.optional(v.pipe(fraction, d('Maximum confidence (inclusive).'))),
  stakes: v.optional(v.pipe(listOf(Stakes), d('Any of these stakes.'))),
  status: v.optional(v.pipe(listOf(Status), d('Any of these states.'))),
  outcome: v.optional(v.pipe(v.union([Outcome, listOf(Outcome)]), d('This outcome, or any of a list.'))),
  agent: v.optional(v.pipe(name, d('Agent that recorded it.'))),
  project: v.optional(v.pipe(name, d('Project name.'))),
  feature: v.optional(v.pipe(name, d('Feature of a project.'))),
  pr: v.optional(v.pipe(pullRequest, d('Pull request number.'))),
  has_outcome: v.optional(v.pipe(v.boolean(), d('True for reviewed decisions only, false for pending ones.'))),
  date_after: v.optional(v.pipe(DateBound, d('Recorded on or after this day or time.'))),
  date_before: v.optional(v.pipe(DateBound, d('Recorded on or before this day or time.'))),
  tags: v.optional(v.pipe(listOf(text(64)), d('Any of these tags, compared exactly.'))),
})
export type Filters = v.InferOutput<typeof Filters>

/** The filters of listDecisions. */
export const ListFilters = {
  category: v.optional(v.pipe(name, d('Only this category.'))),
  stakes: v.optional(v.pipe(v.union([Stakes, listOf(Stakes)]), d('These stakes, or any of a list.'))),
  status: v.optional(v.pipe(v.union([Status, listOf(Status)]), d('This state, or any of a list.'))),
  outcome: v.optional(v.pipe(v.union([Outcome, listOf(Outcome)]), d('This outcome, or any of a list.'))),
  agent: v.optional(v.pipe(name, d('Agent that recorded it.'))),
  project: v.optional(v.pipe(name, d('Project name.'))),
  feature: v.optional(v.pipe(name, d('Feature of a project.'))),
  pr: v.optional(v.pipe(pullRequest, d('Pull request number.'))),
  tags: v.optional(v.pipe(listOf(text(64)), d('Any of these tags, compared exactly.'))),
  date_from: v.optional(v.pipe(DateBound, d('Recorded on or after this day or time.'))),
  date_to: v.optional(v.pipe(DateBound, d('Recorded on or before this day or time.'))),
  scored: v.optional(v.pipe(v.literal(true), d('Only decisions that are scored by getCalibration.'))),
}
/** The filters of a list. */
export type ListFilters = v.InferOutput<v.ObjectSchema<typeof ListFilters, undefined>>

/** Whether a read is part of the deliberation of its agent. */
const track = v.pipe(
  v.optional(v.boolean(), true),
  d('False if the call is not part of a deliberation: nothing is kept for the next decision.'),
)

/** Parameters that distinguish the deliberation sessions of one agent; every tracked method takes both. */
export const trackedParams = {
  agent_id: v.optional(v.pipe(v.nullable(name), d('Distinguishes agents that share a token.'))),
  tracker_scope: v.optional(v.pipe(v.nullable(name), d('Separates parallel deliberations.'))),
}

/** The id of an act, as answers contain it. */
export const ThreadId = v.pipe(v.string(), v.description('Id of its record in the thread.'))

/** What an answer waits for. */
export const Durability = v.pipe(
  v.optional(v.picklist(['stored', 'logged']), 'stored'),
  v.description(
    '`stored` waits until the record is durable; `logged` also waits until it has its place in the thread.',
  ),
)

/** Parameters of a method that reads. */
export const readParams = { track, ...trackedParams }
