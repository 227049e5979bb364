/** Whether any value of a field can meet all conditions on it; only equality, order and presence are considered. */
import type { Condition, FieldCondition, Rule } from '../../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { actionField, isNullable } from './action.ts'
import { factField, isFact } from './fact-names.ts'

/** The canonical name of a field. */
export const fieldName = (field: string): string =>
  actionField(field) || isFact(field) || field.startsWith('context.') ? field : `context.${field}`

/** The values that pass: those between the bounds that are also in `among`, unless that is null. */
interface Range {
  low: number
  lowOpen: boolean
  high: number
  highOpen: boolean
  among: Set<unknown> | null
}

function narrow(range: Range, { operator, value }: FieldCondition): Range {
  const next = { ...range }
  const look = (one: unknown) => (typeof one === 'string' ? skeleton(one) : one)
  const keep = (values: Set<unknown>) => {
    next.among = next.among === null ? values : new Set([...next.among].filter((one) => values.has(one)))
  }
  if (operator === '=' || operator === '==') keep(new Set([look(value)]))
  if (operator === 'in') keep(new Set((value as unknown[]).map(look)))
  if ((operator === '!=' || operator === 'not_in') && next.among) {
    const out = new Set<unknown>([value].flat().map(look))
    next.among = new Set([...next.among].filter((one) => !out.has(one)))
  }
  if (typeof value === 'number') {
    if ((operator === '<' || operator === '<=') && (value < next.high || (value === next.high && operator === '<')))
      [next.high, next.highOpen] = [value, operator === '<']
    if ((operator === '>' || operator === '>=') && (value > next.low || (value === next.low && operator === '>')))
      [next.low, next.lowOpen] = [value, operator === '>']
  }
  return next
}

const within = (range: Range, value: unknown): boolean =>
  typeof value !== 'number' ||
  ((range.lowOpen ? value > range.low : value >= range.low) &&
    (range.highOpen ? value < range.high : value <= range.high))

function hasValue(field: string, conditions: readonly FieldCondition[]): boolean {
  const { values, range: bounds = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] } =
    actionField(field) ?? factField(field) ?? {}
  const start: Range = {
    low: bounds[0],
    lowOpen: false,
    high: bounds[1],
    highOpen: false,
    among: values ? new Set(values) : null,
  }
  // Exclusions are applied last: they can only remove values that the other conditions leave. An exact one excludes a single spelling,
  // so it is skipped unless all conditions are exact.
  const counted = conditions.every(({ exact }) => exact)
    ? conditions
    : conditions.filter((one) => !(one.exact && excludes(one)))
  const ordered = [...counted].sort((a, b) => Number(excludes(a)) - Number(excludes(b)))
  const range = ordered.reduce(narrow, start)
  if (range.low > range.high || (range.low === range.high && (range.lowOpen || range.highOpen))) return false
  return range.among === null || [...range.among].some((value) => within(range, value))
}

const excludes = ({ operator }: FieldCondition): boolean => operator === '!=' || operator === 'not_in'

const wantsAbsence = ({ operator, value }: FieldCondition): boolean => operator === 'exists' && value === false

/** True when some action meets all of these conditions on one field. */
export function isPossible(field: string, conditions: readonly FieldCondition[]): boolean {
  const absent = conditions.every((one) => wantsAbsence(one) || one.when_missing === 'match')
  const own = actionField(field)
  if (absent && (!own || isNullable(own))) return true
  return !conditions.some(wantsAbsence) && hasValue(field, conditions)
}

/** The field conditions that must all hold for a rule to fire, by field. */
export function mustHold({ conditions }: Rule): Map<string, FieldCondition[]> {
  const found = new Map<string, FieldCondition[]>()
  const take = (one: Condition): void => {
    if (one.type === 'compound' && one.operator === 'and') one.conditions.forEach(take)
    if (one.type !== 'field') return
    const name = fieldName(one.field)
    found.set(name, [...(found.get(name) ?? []), one])
  }
  conditions.forEach(take)
  return found
}
