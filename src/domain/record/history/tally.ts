/** Counts over the fields of decisions in memory, as the stores count them in their engines. */
import { compareText, groupOrder, scoredValue } from '../../../../sdk/storage/fields.ts'
import type { CountKey, DecisionFields, OutcomeGroup, ScoreSum } from '../../../../sdk/storage/store.ts'

/** The distinct items, each with its number of occurrences. */
export function counted<T extends object>(items: readonly T[]): (T & { count: number })[] {
  const groups = new Map<string, T & { count: number }>()
  for (const item of items) {
    const key = JSON.stringify(item)
    const known = groups.get(key)
    if (known) known.count++
    else groups.set(key, { ...item, count: 1 })
  }
  return [...groups.values()]
}

/** The fields of a decision that are scored. */
export const groupOf = ({ confidence_at_record: confidence, outcome, settled_by }: DecisionFields) => ({
  confidence,
  outcome,
  settled_by,
})

function valuesOf(fields: DecisionFields, by: CountKey): string[] {
  if (by === 'tag') return [...new Set(fields.tags)]
  const value = by === 'day' ? new Date(fields.created_ms).toISOString().slice(0, 10) : fields[by]
  return value === null ? [] : [value]
}

/** As `countBy` of the store. */
export const countBy = (all: readonly DecisionFields[], by: CountKey): { value: string; count: number }[] =>
  counted(all.flatMap((fields) => valuesOf(fields, by).map((value) => ({ value })))).sort(
    (a, b) => (by === 'day' ? 0 : b.count - a.count) || compareText(a.value, b.value),
  )

/** As `outcomes` of the store. */
export const outcomesOf = (all: readonly DecisionFields[]): OutcomeGroup[] => counted(all.map(groupOf)).sort(groupOrder)

/** As `scores` of the store. */
export function scoresOf(all: readonly DecisionFields[]): ScoreSum[] {
  const sums = new Map<string, ScoreSum>()
  for (const fields of all) {
    const value = scoredValue(groupOf(fields))
    if (value === null) continue
    const { agent, category, stakes } = fields
    const key = JSON.stringify([agent, category, stakes])
    const sum = sums.get(key) ?? { agent, category, stakes, count: 0, confidence: 0, value: 0 }
    sum.count++
    sum.confidence += fields.confidence_at_record!
    sum.value += value
    sums.set(key, sum)
  }
  return [...sums.values()]
}
