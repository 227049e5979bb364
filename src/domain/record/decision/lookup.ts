/** Finds the decision that an id, a prefix of an id, or a source key identifies, and converts filters. */

import { CstpError, decisionNotFound, invalidParams } from '../../../../sdk/errors.ts'
import {
  decisionFields,
  decisionFilters,
  type FilterParams,
  type ParamKind,
  paramFilters,
  paramName,
} from '../../../../sdk/schema/decision-fields.ts'
import { boundMs, type Filters, type ListFilters } from '../../../../sdk/schema/params.ts'
import { readDecision } from '../../../../sdk/storage/decisions.ts'
import type {
  DecisionFilter,
  DecisionReader,
  KeyedReader,
  ListFilter,
  StoredDecision,
} from '../../../../sdk/storage/store.ts'
import { type Caller, mayCurate } from '../../../core/caller.ts'
import { missing } from './tombstone.ts'

const fullForm = /^\d{4}-\d{2}-\d{2}-decision-[0-9a-f]{12}$/
/** Whether a text has the form of a whole decision id. */
export const isWholeId = (given: string): boolean => fullForm.test(given)
const shownCandidates = 10

/**
 * The whole id for a whole id, a source key, or a unique prefix of 8 or more characters of an id or of its hexadecimal part.
 * @throws CstpError `decision_not_found`, or `invalid_params` if a prefix is too short or matches several decisions (`data.candidates`)
 */
export async function resolveId(decisions: Pick<DecisionReader, 'find'>, given: string, path: string): Promise<string> {
  if (isWholeId(given)) return given
  const [imported] = await decisions.find({ source_key: given })
  if (imported !== undefined) return imported
  const bare = /^[0-9a-f]+$/.test(given)
  if (given.length < 8) {
    throw invalidParams({
      path,
      message: 'a prefix needs at least 8 characters',
      expected: 'a decision id, a prefix of 8 or more characters, or a source_key',
      received: given,
    })
  }
  const candidates = (await decisions.find({ prefix: given, limit: shownCandidates + 1 })).filter(
    (id) => bare || id.startsWith(given),
  )
  // Records added by hand may have ids of another form, and one may be a prefix of another.
  if (candidates.length === 1 || candidates[0] === given) return candidates[0]!
  if (candidates.length === 0) throw decisionNotFound(given)
  const shown = candidates.slice(0, shownCandidates)
  const message = `the prefix ${given} matches ${candidates.length > shownCandidates ? 'more than 10' : candidates.length} decisions`
  throw invalidParams({ path, message, expected: 'a unique prefix', received: given }, { candidates: shown })
}

/** Where a decision, or its tombstone, is looked up. */
interface Kept {
  decisions: Pick<DecisionReader, 'get'>
  keyed: Pick<KeyedReader, 'get'>
}

/** A stored decision. @throws CstpError `decision_not_found` with the id as given, and the time of its erasure if it was erased */
export async function requireDecision({ decisions, keyed }: Kept, id: string, given: string): Promise<StoredDecision> {
  const found = await readDecision(decisions, id)
  if (!found) throw await missing(keyed, id, given)
  return found
}

/** A stored decision that the caller may change. @throws CstpError `decision_not_found`, or `forbidden` if another agent recorded it */
export async function requireOwn(kept: Kept, id: string, given: string, caller: Caller): Promise<StoredDecision> {
  const found = await requireDecision(kept, id, given)
  const { recorded_by } = found.record
  if (recorded_by === caller.agent || mayCurate(caller)) return found
  const message = `${id} was recorded by ${recorded_by}: only that agent and the scopes curate and admin may change it`
  throw new CstpError('forbidden', message, { scope: 'curate' })
}

// Converts filters of callers to filters of stores.

/** An object without its undefined members. */
export function given<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never
}

/** A filter of stores from the parameters of a method. */
function fromParams<K extends ParamKind>(kind: K, params: FilterParams<K>): DecisionFilter {
  const values: Record<string, unknown> = params
  const operands = paramFilters.map((name) => {
    const value = values[paramName(name, kind)]
    const { field, operator } = decisionFilters[name]
    if (value === undefined) return [name, undefined]
    if (decisionFields[field].type === 'time') return [name, boundMs(value as string, operator === 'lte') ?? undefined]
    return [name, operator === 'in' ? [value].flat() : value]
  })
  return given(Object.fromEntries(operands))
}

/** The filter of a list or count. */
export const toListFilter = ({ scored, ...params }: ListFilters): ListFilter => ({
  ...fromParams('list', params),
  ...(scored && { scored }),
})

/** The filter of a query. `has_outcome` and `status` both restrict the status. */
export function toFilter({ has_outcome, ...params }: Filters): DecisionFilter {
  const filter = fromParams('query', params)
  if (has_outcome !== undefined) {
    const wanted = has_outcome ? 'reviewed' : 'pending'
    filter.status = (filter.status ?? [wanted]).filter((status) => status === wanted)
  }
  return filter
}
