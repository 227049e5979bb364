/** The locks of counting transactions: of two, neither writes what the other has counted, and unrelated ones run concurrently. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import { nameOf } from './draft.ts'

/** Held by every counting transaction: exclusively if it counts, or changes, something that has no name of its own; otherwise shared. */
export const allCounts = nameOf('counts', '')

const named = (field: string, value: string): string => nameOf('counts', `${field} ${value}`)
const looked = (field: string, value: string | null | undefined): string[] =>
  value == null ? [] : [named(field, skeleton(value))]

/** The narrowest name of what is counted; it is held exclusively. */
export function countedName({ agent, category, project, feature, alike = {} }: CountFilter): string {
  const names = [
    ...(agent === undefined ? [] : [named('agent', agent)]),
    ...looked('category', alike.category ?? category),
    ...looked('project', alike.project ?? project),
    ...looked('feature', alike.feature ?? feature),
    ...looked('tag', alike.tag),
  ]
  return names[0] ?? allCounts
}

/** Every name under which a new decision may be counted; held in share mode by transactions that add decisions. */
export function countedUnder(record: DecisionRecord): string[] {
  const { agent, category, project, feature, tags } = filterFields(record, false)
  return [
    named('agent', agent),
    ...looked('category', category),
    ...looked('project', project),
    ...looked('feature', feature),
    ...new Set(tags.flatMap((tag) => looked('tag', tag))),
  ]
}
