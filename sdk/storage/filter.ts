/** Defines what a {@link DecisionFilter} matches: every driver that filters in memory uses this predicate. */
import { type Comparison, comparisons } from '../schema/decision-fields.ts'
import { type CountFilter, type DecisionFields, type DecisionFilter, spelledFields } from './decisions.ts'
import { scoredValue } from './fields.ts'
import { skeleton } from './skeleton.ts'

/** Whether a decision passes a filter. */
export type FieldsPredicate = (fields: DecisionFields) => boolean

/**
 * True if the filter restricts nothing.
 * @example
 * ```ts
 * isEmptyFilter({ category: undefined }) // true
 * ```
 */
export function isEmptyFilter(filter: DecisionFilter): boolean {
  return Object.values(filter).every((value) => value === undefined)
}

type Value = DecisionFields[keyof DecisionFields]

/** The values of each field by the number of the decision, for {@link passing}. */
export type FieldColumns = { [N in keyof DecisionFields]: DecisionFields[N][] }

/** Whether a value passes a comparison. */
function valueTest({ operator, operand }: Comparison): (value: Value) => boolean {
  if (operator === 'eq') return (value) => value === operand
  if (operator === 'gte') return (value) => value !== null && value >= operand
  if (operator === 'lte') return (value) => value !== null && value <= operand
  const some = operand as readonly unknown[]
  if (operator === 'in') return (value) => some.includes(value)
  return (value) => (value as readonly string[]).some((text) => some.includes(text))
}

/**
 * Which of the first `count` decisions pass, whose fields are in arrays, so that only the fields that it compares are read, one after the
 * other. @returns 1 for each number that passes
 * @example
 * ```ts
 * const passes = passing({ category: 'architecture' }, columns, count)
 * const found = numbers.filter((number) => passes[number] === 1)
 * ```
 */
export function passing(filter: DecisionFilter, columns: FieldColumns, count: number): Uint8Array {
  const passes = new Uint8Array(count).fill(1)
  for (const comparison of comparisons(filter)) {
    const column: Value[] = columns[comparison.field]
    const test = valueTest(comparison)
    for (let number = 0; number < count; number++)
      if (passes[number] === 1 && !test(column[number]!)) passes[number] = 0
  }
  return passes
}

/**
 * Compiles a filter to a predicate. Compile once and apply it to each decision.
 * @example
 * ```ts
 * const passes = compileFilter({ category: 'architecture', min_confidence: 0.8 })
 * const found = fields.filter(passes)
 * ```
 */
export function compileFilter(filter: CountFilter): FieldsPredicate {
  const tests: FieldsPredicate[] = comparisons(filter).map((comparison) => {
    const test = valueTest(comparison)
    return (fields) => test(fields[comparison.field])
  })
  const { scored, alike } = filter
  if (scored) tests.push((f) => scoredValue({ ...f, confidence: f.confidence_at_record }) !== null)
  for (const field of spelledFields) {
    const look = alike?.[field]
    if (look === undefined) continue
    const looks = (text: string | null): boolean => text !== null && skeleton(text) === look
    tests.push(field === 'tag' ? (f) => f.tags.some(looks) : (f) => looks(f[field]))
  }
  return (fields) => tests.every((test) => test(fields))
}
