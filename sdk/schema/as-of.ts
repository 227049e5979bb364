/** Answers about an earlier time: the parameter, and the block that describes such an answer. */
import * as v from 'valibot'
import { boundMs } from './params.ts'

const d = v.description

const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/

/** The parameter `as_of`. */
export const AsOf = v.optional(
  v.pipe(
    v.string(),
    v.check(
      (value) => form.test(value) && boundMs(value, false) !== null,
      'an RFC 3339 time such as 2026-03-03T12:00:00Z',
    ),
    d('Time to answer for, RFC 3339.'),
  ),
)

/** What an answer about an earlier time can't know. */
export const asOfLimits = [
  'text_changed_since',
  'current_statistics',
  'imported_since',
  'old_values_dropped',
  'erased',
  'more_candidates',
  'file_errors',
  'circuit_breakers',
  'evidence_times',
] as const

/** One limit of an answer about an earlier time. */
export const AsOfLimit = v.object({
  limit: v.pipe(v.picklist(asOfLimits), d('Kind of limit.')),
  message: v.pipe(v.string(), d('Its effect on this answer.')),
  ids: v.pipe(v.array(v.string()), d('Decisions concerned, at most 100; empty if it concerns no specific decision.')),
})
/** One limit of an answer about an earlier time. */
export type AsOfLimit = v.InferOutput<typeof AsOfLimit>

/** The field `as_of` of an answer. */
export const AsOfBlock = v.pipe(
  v.object({
    at: v.pipe(v.string(), d('The time, RFC 3339, UTC.')),
    limits: v.pipe(v.array(AsOfLimit), d('What is not known about that time; empty if nothing is missing.')),
  }),
  d('Only with the parameter `as_of`: the time that the answer is for, and its limits.'),
)
/** The field `as_of` of an answer. */
export type AsOfBlock = v.InferOutput<typeof AsOfBlock>
