/** Parameters that several methods share. */
import * as v from 'valibot'
import { nonEmptyText, Outcome, Stakes, Status, text } from './decision.ts'
import {
  decisionFields,
  decisionFilters,
  type Field,
  type ParamFilter,
  type ParamKind,
  type ParamName,
  type ParamValue,
  paramFilters,
  paramName,
} from './decision-fields.ts'
import { outcomeValues, stakesValues, statusValues } from './values.ts'

const d = v.description

/** Full id, unique prefix or source key of a decision. The metadata lets it be given as `id` or `decision_id`. */
export const DecisionId = v.pipe(
  nonEmptyText(256),
  v.metadata({ identifier: true }),
  d('Id, unique prefix of 8 or more characters, or `source_key`.'),
)

/** One end of a link: full id, unique prefix or source key. */
export const LinkEnd = v.pipe(nonEmptyText(256), d('Id, unique prefix of 8 or more characters, or `source_key`.'))

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
const name = nonEmptyText(256)
/** The picklist of a list of values, which generated types know by name. */
const picklists = new Map<readonly string[], v.GenericSchema>([
  [stakesValues, Stakes],
  [statusValues, Status],
  [outcomeValues, Outcome],
])

/** The schema of one value of a field, as a filter takes it. */
function valueSchema({ type, values, range, maxLength = 256 }: Field): v.GenericSchema {
  if (values !== undefined) return picklists.get(values) ?? v.picklist(values)
  if (type === 'time') return DateBound
  if (type === 'boolean') return v.boolean()
  if (type === 'texts') return listOf(text(maxLength))
  if (type === 'text') return nonEmptyText(maxLength)
  const [min, max] = range ?? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  if (type === 'integer') return whole(min, max)
  const expected = `a number from ${min} to ${max}`
  return v.pipe(v.number(), v.finite(expected), v.minValue(min, expected), v.maxValue(max, expected))
}

function paramSchema(filter: ParamFilter): v.GenericSchema {
  const { field, operator, about } = decisionFilters[filter]
  const one = valueSchema(decisionFields[field])
  return v.optional(v.pipe(operator === 'in' ? v.union([one, listOf(one)]) : one, d(about)))
}

/** The parameters that filter, from the declared filters. */
const filterEntries = <K extends ParamKind>(kind: K) =>
  Object.fromEntries(paramFilters.map((filter) => [paramName(filter, kind), paramSchema(filter)])) as {
    [M in ParamFilter as ParamName<M, K>]: v.OptionalSchema<v.GenericSchema<ParamValue<M>>, undefined>
  }

type ToolFilter = { [M in ParamFilter]: (typeof decisionFilters)[M] extends { tool: true } ? M : never }[ParamFilter]
const isToolFilter = (filter: ParamFilter): filter is ToolFilter => 'tool' in decisionFilters[filter]

/** The filters of queryDecisions. All that are given must hold. */
export const Filters = v.object({
  ...filterEntries('query'),
  has_outcome: v.optional(v.pipe(v.boolean(), d('True for reviewed decisions only, false for pending ones.'))),
})
export type Filters = v.InferOutput<typeof Filters>

const { has_outcome, ...toolFilters } = v.pick(Filters, ['has_outcome', ...paramFilters.filter(isToolFilter)]).entries
/** The filters that the MCP tool for searches offers. */
export const ToolFilters = v.object({ ...toolFilters, has_outcome })

/** The filters of listDecisions and getStats. */
export const ListFilters = {
  ...filterEntries('list'),
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
export const ThreadId = v.pipe(v.string(), v.description('Id of its record in the ledger.'))

/** What an answer waits for. */
export const Durability = v.pipe(
  v.optional(v.picklist(['stored', 'logged']), 'stored'),
  v.description(
    '`stored` waits until the record is durable; `logged` also waits until it has its place in the ledger.',
  ),
)

/** Parameters of a method that reads. */
export const readParams = { track, ...trackedParams }
