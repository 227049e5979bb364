/**
 * The numbered combinations that decisions are counted by (agent, category and stakes; outcome and status), and which parts of a filter
 * they decide.
 */
import { compileFilter } from '../../../../sdk/storage/filter.ts'
import type { CountFilter, DecisionFields, OutcomeGroup } from '../../../../sdk/storage/store.ts'

export type Place = Pick<DecisionFields, 'agent' | 'category' | 'stakes'>

export interface Group extends Omit<OutcomeGroup, 'count'> {
  status: DecisionFields['status']
  preserve: boolean
  /** The score value of the outcome; null if it enters no score. */
  value: number | null
}

/** Places and groups by number. */
export interface Kinds {
  places: readonly Place[]
  groups: readonly Group[]
}

// A filter, split into what a decision's combinations and time decide, and the rest.

export interface Selection {
  /** Whether each place passes, by its number; null if all do. */
  places: readonly boolean[] | null
  groups: readonly boolean[] | null
  from_ms: number
  to_ms: number
  /** The part of the filter that only a decision's row can decide; null if there is none. */
  rest: CountFilter | null
}

const isGiven = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined)

export function select(kinds: Kinds, filter: CountFilter): Selection {
  const {
    agent,
    category,
    stakes,
    status,
    outcome,
    preserve,
    scored,
    created_from_ms,
    created_to_ms,
    alike,
    ...others
  } = filter
  const { category: look, ...alikeOthers } = alike ?? {}
  const ofPlace: CountFilter = { agent, category, stakes, ...(look !== undefined && { alike: { category: look } }) }
  const ofGroup: CountFilter = { status, outcome, preserve }
  const rest: CountFilter = { ...others, ...(isGiven(alikeOthers) && { alike: alikeOthers }) }
  // A compiled filter reads only the fields that the filter names.
  const passing = (filter: CountFilter, values: readonly (Place | Group)[]) =>
    isGiven(filter) ? values.map(compileFilter(filter) as (value: Place | Group) => boolean) : null
  const groups = passing(ofGroup, kinds.groups)
  return {
    places: passing(ofPlace, kinds.places),
    groups: scored ? kinds.groups.map(({ value }, at) => value !== null && (groups?.[at] ?? true)) : groups,
    from_ms: created_from_ms ?? Number.NEGATIVE_INFINITY,
    to_ms: created_to_ms ?? Number.POSITIVE_INFINITY,
    rest: isGiven(rest) ? rest : null,
  }
}
