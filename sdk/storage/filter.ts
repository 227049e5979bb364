/** Defines what a {@link DecisionFilter} matches: every driver that filters in memory uses this predicate. */
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

/**
 * Compiles a filter to a predicate. Compile once and apply it to each decision.
 * @example
 * ```ts
 * const passes = compileFilter({ category: 'architecture', min_confidence: 0.8 })
 * const found = fields.filter(passes)
 * ```
 */
export function compileFilter(filter: CountFilter): FieldsPredicate {
  const tests: FieldsPredicate[] = []
  const { category, min_confidence, max_confidence, stakes, status, outcome, project, feature, pr, agent, tags } =
    filter
  const { created_from_ms, created_to_ms, review_by_to_ms, preserve, indexed, scored, alike } = filter
  if (category !== undefined) tests.push((f) => f.category === category)
  if (project !== undefined) tests.push((f) => f.project === project)
  if (feature !== undefined) tests.push((f) => f.feature === feature)
  if (agent !== undefined) tests.push((f) => f.agent === agent)
  if (pr !== undefined) tests.push((f) => f.pr === pr)
  if (created_from_ms !== undefined) tests.push((f) => f.created_ms >= created_from_ms)
  if (created_to_ms !== undefined) tests.push((f) => f.created_ms <= created_to_ms)
  if (review_by_to_ms !== undefined) tests.push((f) => f.review_by_ms <= review_by_to_ms)
  if (min_confidence !== undefined) tests.push((f) => f.confidence !== null && f.confidence >= min_confidence)
  if (max_confidence !== undefined) tests.push((f) => f.confidence !== null && f.confidence <= max_confidence)
  if (stakes !== undefined) tests.push((f) => stakes.includes(f.stakes))
  if (status !== undefined) tests.push((f) => status.includes(f.status))
  if (outcome !== undefined) tests.push((f) => f.outcome !== null && outcome.includes(f.outcome))
  if (tags !== undefined) tests.push((f) => f.tags.some((tag) => tags.includes(tag)))
  if (preserve !== undefined) tests.push((f) => f.preserve === preserve)
  if (scored) tests.push((f) => scoredValue({ ...f, confidence: f.confidence_at_record }) !== null)
  if (indexed !== undefined) tests.push((f) => f.indexed === indexed)
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
