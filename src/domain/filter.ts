/** Filters as callers write them to filters as stores take them. */
import type { Filters } from '../../sdk/schema/params.ts'
import { boundMs } from '../../sdk/schema/params.ts'
import type { DecisionFilter } from '../../sdk/storage/store.ts'

/** The members of an object that are given. */
export function given<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never
}

/** One or several values of a filter as a list; undefined where the filter is not given. */
export const listed = <T extends string>(value: T | T[] | undefined): T[] | undefined =>
  value === undefined || Array.isArray(value) ? value : [value]

/** Inclusive bounds on the instant of recording. */
export function createdBetween(from: string | undefined, to: string | undefined): DecisionFilter {
  return given({
    created_from_ms: from === undefined ? undefined : (boundMs(from, false) ?? undefined),
    created_to_ms: to === undefined ? undefined : (boundMs(to, true) ?? undefined),
  }) as DecisionFilter
}

/** The filter of a query. `has_outcome` and `status` both restrict the status. */
export function toFilter({ has_outcome, date_after, date_before, outcome, ...rest }: Filters): DecisionFilter {
  const filter: DecisionFilter = {
    ...given({ ...rest, outcome: listed(outcome) }),
    ...createdBetween(date_after, date_before),
  }
  if (has_outcome !== undefined) {
    const wanted = has_outcome ? 'reviewed' : 'pending'
    filter.status = (filter.status ?? [wanted]).filter((status) => status === wanted)
  }
  return filter
}
