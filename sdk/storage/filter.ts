/** Defines what a {@link DecisionFilter} matches: every driver that filters in memory uses this predicate. */
import { type Comparison, comparisons } from '../schema/decision-fields.ts'
import { type CountFilter, type DecisionFields, type DecisionFilter, spelledFields } from './decisions.ts'
import { scoredValue } from './fields.ts'
import { skeleton } from './skeleton.ts'

/** Whether a decision passes a filter. */
export type FieldsPredicate = (fields: DecisionFields) => boolean

const all: FieldsPredicate = () => true

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

/** The predicate of one comparison. */
function predicate({ field, operator, operand }: Comparison): FieldsPredicate {
  if (operator === 'eq') return (fields) => fields[field] === operand
  if (operator === 'gte') return (fields) => fields[field] !== null && fields[field] >= operand
  if (operator === 'lte') return (fields) => fields[field] !== null && fields[field] <= operand
  const some = operand as readonly unknown[]
  if (operator === 'in') return (fields) => some.includes(fields[field])
  return (fields) => (fields[field] as readonly string[]).some((text) => some.includes(text))
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
  const tests: FieldsPredicate[] = comparisons(filter).map(predicate)
  const { scored, alike } = filter
  if (scored) tests.push((f) => scoredValue({ ...f, confidence: f.confidence_at_record }) !== null)
  for (const field of spelledFields) {
    const look = alike?.[field]
    if (look === undefined) continue
    const looks = (text: string | null): boolean => text !== null && skeleton(text) === look
    tests.push(field === 'tag' ? (f) => f.tags.some(looks) : (f) => looks(f[field]))
  }
  const [first, second, ...rest] = tests
  if (first === undefined) return all
  if (second === undefined) return first
  if (rest.length === 0) return (f) => first(f) && second(f)
  return (f) => {
    for (const test of tests) if (!test(f)) return false
    return true
  }
}
