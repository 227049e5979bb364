/** The operators of field conditions. A value that an operator can't compare is an error, and errors fail closed. */
import type { FieldCondition, Operator } from '../../../sdk/schema/guardrail.ts'

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

/** Two numbers by an operator of order or equality. */
export function compareNumbers(a: number, operator: Operator, b: number): boolean {
  if (operator === '=' || operator === '==') return a === b
  if (operator === '!=') return a !== b
  const compare = order[operator]
  if (!compare) throw new EvaluationError(`${operator} does not compare numbers`)
  return compare(a, b)
}

/**
 * Whether a present value meets a condition. Equality with a value of another kind is an error rather than false: `"5000"` must not slip
 * past a rule about 5000. Lists and objects equal nothing.
 * @throws EvaluationError if the operator can't compare the value
 */
export function holds({ field, operator, value: wanted }: FieldCondition, actual: unknown): boolean {
  switch (operator) {
    case 'exists':
      return wanted !== false
    case '=':
    case '==':
      if (typeof actual !== typeof wanted) throw wrongKind(field, operator, actual, `a ${typeof wanted}`)
      return actual === wanted
    case '!=':
      return actual !== wanted
    case 'in':
    case 'not_in': {
      const list = wanted as unknown[]
      const within = list.includes(actual)
      if (!within && operator === 'in' && list.length > 0 && !list.some((one) => typeof one === typeof actual)) {
        throw wrongKind(field, operator, actual, `a ${typeof list[0]}`)
      }
      return within === (operator === 'in')
    }
    case 'contains':
      if (Array.isArray(actual)) return actual.includes(wanted)
      if (typeof actual === 'string' && typeof wanted === 'string')
        return actual.toLowerCase().includes(wanted.toLowerCase())
      throw wrongKind(field, operator, actual, 'a text or a list')
    default:
      if (typeof actual !== 'number') throw wrongKind(field, operator, actual, 'a number')
      return compareNumbers(actual, operator, wanted as number)
  }
}
