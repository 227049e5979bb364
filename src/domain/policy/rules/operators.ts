/** The operators of field conditions. A value that an operator can't compare is an error, and errors fail closed. */
import type { FieldCondition, Operator } from '../../../../sdk/schema/guardrail.ts'

/** Thrown when a condition can't be evaluated. */
export class EvaluationError extends Error {
  override name = 'EvaluationError'
}

/** Thrown when there are fewer decisions than a condition needs. */
export class SampleError extends EvaluationError {
  override name = 'SampleError'
}

const kindOf = (value: unknown): string =>
  Array.isArray(value)
    ? 'a list'
    : value === null
      ? 'null'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`

const wrongKind = (field: string, operator: Operator, value: unknown, wanted: string): EvaluationError =>
  new EvaluationError(`${field} is ${kindOf(value)}; ${operator} needs ${wanted}`)

const order: Partial<Record<Operator, (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
}

/** Compares two numbers with an order or equality operator. */
export function compareNumbers(a: number, operator: Operator, b: number): boolean {
  if (operator === '=' || operator === '==') return a === b
  if (operator === '!=') return a !== b
  const compare = order[operator]
  if (!compare) throw new EvaluationError(`${operator} does not compare numbers`)
  return compare(a, b)
}

/** Compares a value that is present with the value of a condition. @throws EvaluationError if the operator can't compare the value */
export type Comparison = (actual: unknown, fold: (text: string) => string) => boolean

/**
 * Compiles the comparison of a condition. Texts are compared by their skeleton, unless the condition is exact. Equality with a value of
 * another kind is an error rather than false: `"5000"` must not slip past a rule about 5000. Lists and objects equal nothing.
 * @param look returns the skeleton of a text of the condition
 */
export function compileComparison(
  { field, operator, value: wanted, exact }: FieldCondition,
  look: (text: string) => string,
): Comparison {
  const own = (value: unknown): unknown => (typeof value === 'string' && !exact ? look(value) : value)
  const want = Array.isArray(wanted) ? wanted.map(own) : own(wanted)
  const seen = (actual: unknown, fold: (text: string) => string): unknown =>
    typeof actual === 'string' && !exact ? fold(actual) : actual
  switch (operator) {
    case 'exists':
      return () => want !== false
    case '=':
    case '==':
      return (actual, fold) => {
        if (typeof actual !== typeof want) throw wrongKind(field, operator, actual, `a ${typeof want}`)
        return seen(actual, fold) === want
      }
    case '!=':
      return (actual, fold) => seen(actual, fold) !== want
    case 'in':
    case 'not_in': {
      const list = want as unknown[]
      return (actual, fold) => {
        const within = list.includes(seen(actual, fold))
        if (!within && operator === 'in' && list.length > 0 && !list.some((one) => typeof one === typeof actual)) {
          throw wrongKind(field, operator, actual, `a ${typeof list[0]}`)
        }
        return within === (operator === 'in')
      }
    }
    case 'contains':
      return (actual, fold) => {
        if (Array.isArray(actual)) return actual.some((one) => seen(one, fold) === want)
        if (typeof actual === 'string' && typeof want === 'string') return String(seen(actual, fold)).includes(want)
        throw wrongKind(field, operator, actual, 'a text or a list')
      }
    default:
      return (actual) => {
        if (typeof actual !== 'number') throw wrongKind(field, operator, actual, 'a number')
        return compareNumbers(actual, operator, want as number)
      }
  }
}
