/** The counting verb of the store over decisions in memory. */
import type { DecisionRecord } from '../schema/decision.ts'
import type { DecisionFields, DecisionGroup, GroupKey } from './decisions.ts'

/**
 * The types of a decision's reasons, each with the number of reasons and the sum of their strengths.
 * @example
 * ```ts
 * reasonSums([{ type: 'risk', text: 'why', strength: 0.5 }]) // [{ reason: 'risk', uses: 1, strength: 0.5 }]
 * ```
 */
export const reasonSums = (reasons: DecisionRecord['reasons']): { reason: string; uses: number; strength: number }[] =>
  [...Map.groupBy(reasons, ({ type }) => type)].map(([reason, own]) => ({
    reason,
    uses: own.length,
    strength: own.reduce((sum, { strength }) => sum + strength, 0),
  }))

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The values of a decision for a key, each with the sums of its reasons if there are any. */
function valuesOf(
  { fields, reasons }: CountedDecision,
  key: Exclude<GroupKey, 'result'>,
): { value: string | number | null; uses?: number; strength?: number }[] {
  if (key === 'tag') return [...new Set(fields.tags)].map((value) => ({ value }))
  if (key === 'reason') return reasonSums(reasons).map(({ reason: value, ...sums }) => ({ value, ...sums }))
  if (key === 'day') return [{ value: dayOf(fields.created_ms) }]
  if (key === 'reviewed_day') return [{ value: fields.reviewed_ms === null ? null : dayOf(fields.reviewed_ms) }]
  return [{ value: fields[key] }]
}

/** The result of each of these decisions that shares it with another one, or with decisions elsewhere. */
function sharedResults(decisions: readonly CountedDecision[], elsewhere: ReadonlySet<string>) {
  const named = [...Map.groupBy(decisions, ({ fields }) => resultOf(fields))]
  const shared = named.filter(([result, own]) => own.length > 1 || (result !== null && elsewhere.has(result)))
  return new Map(shared.flatMap(([result, own]) => own.map((one) => [one, result] as const)))
}

/**
 * The result of a decision, whether or not others share it: see `result` of `GroupValues`.
 * @example
 * ```ts
 * resultOf(filterFields(record, true)) // 'ada acme/shop#12'
 * ```
 */
export const resultOf = ({
  agent,
  project,
  pr,
  settled_by: by,
}: Pick<DecisionFields, 'agent' | 'project' | 'pr' | 'settled_by'>): string | null =>
  (by === 'observed' || by === 'inferred') && project !== null && pr !== null ? `${agent} ${project}#${pr}` : null

/** A decision as {@link groupDecisions} counts it. */
export interface CountedDecision {
  fields: DecisionFields
  /** Needed only to group by `reason`. */
  reasons: DecisionRecord['reasons']
}

/**
 * As `groups` of a store, over decisions in memory.
 * @param elsewhere results that decisions elsewhere share with these
 * @example
 * ```ts
 * groupDecisions([{ fields: filterFields(record, true), reasons: record.reasons }], ['category', 'day'])
 * ```
 */
export function groupDecisions<K extends GroupKey>(
  decisions: readonly CountedDecision[],
  by: readonly K[],
  elsewhere: ReadonlySet<string> = new Set(),
): DecisionGroup<K>[] {
  type Row = Record<string, string | number | null> & { count: number }
  const groups = new Map<string, Row>()
  const add = (row: Row, sums: { uses?: number; strength?: number }): void => {
    const key = JSON.stringify(row)
    const group = groups.get(key) ?? { ...row, count: 0, ...(sums.uses !== undefined && { uses: 0, strength: 0 }) }
    group.count++
    if (sums.uses !== undefined) {
      group.uses = (group.uses as number) + sums.uses
      group.strength = (group.strength as number) + sums.strength!
    }
    groups.set(key, group)
  }
  const shared = by.some((key) => key === 'result') ? sharedResults(decisions, elsewhere) : null
  for (const decision of decisions) {
    let rows: { row: Row; uses?: number; strength?: number }[] = [{ row: { count: 0 } }]
    for (const key of by)
      rows = rows.flatMap(({ row, ...sums }) =>
        (key === 'result' ? [{ value: shared!.get(decision) ?? null }] : valuesOf(decision, key)).map(
          ({ value, ...more }) => ({ row: { ...row, [key]: value }, ...sums, ...more }),
        ),
      )
    for (const { row, ...sums } of rows) add(row, sums)
  }
  return [...groups.values()] as unknown as DecisionGroup<K>[]
}
