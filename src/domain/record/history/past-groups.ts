/** Counts of decisions as they were at an earlier time, from those that have not changed since and the past states of the others. */
import { groupDecisions, resultOf } from '../../../../sdk/storage/counted.ts'
import type { DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import type { Groups } from '../../../../sdk/storage/groups.ts'
import type { CountFilter, DecisionFields } from '../../../../sdk/storage/store.ts'

/**
 * The groups of both parts together. A store names no `result` that has only one decision in its part; if changed ones share it, it is named
 * here, so that they share the weight of one.
 * @param unchanged the filter of those that have not changed since
 * @param changed the past states of the others
 */
export async function groupsOfBoth<K extends Exclude<GroupKey, 'reason'>>(
  decisions: Groups,
  unchanged: CountFilter,
  changed: readonly DecisionFields[],
  by: readonly K[],
  yieldToEventLoop: () => Promise<void>,
): Promise<DecisionGroup<K>[]> {
  const results = new Map<string, DecisionFields>()
  if (by.some((key) => key === 'result'))
    for (const fields of changed) {
      const result = resultOf(fields)
      if (result !== null) results.set(result, fields)
    }
  const groups = await decisions.groups(unchanged, by)
  for (const [result, { agent, project, pr }] of results) {
    const own = { ...unchanged, agent, project: project!, pr: pr! }
    for (const group of await decisions.groups(own, by)) {
      const { settled_by, result: known } = group as Partial<DecisionGroup<'settled_by' | 'result'>>
      if (known === null && resultOf({ agent, project, pr, settled_by: settled_by! }) === result)
        groups.push({ ...group, count: -group.count }, { ...group, result })
    }
    await yieldToEventLoop()
  }
  const counted = changed.map((fields) => ({ fields, reasons: [] }))
  const sums = new Map<string, DecisionGroup<K>>()
  for (const group of [...groups, ...groupDecisions(counted, by, new Set(results.keys()))]) {
    const key = JSON.stringify(by.map((name) => group[name]))
    const known = sums.get(key)
    sums.set(key, known ? { ...known, count: known.count + group.count } : group)
  }
  return [...sums.values()].filter(({ count }) => count > 0)
}
