/** Whether any value of a field can meet all conditions on it, as far as equality, order and presence tell. */
import type { Condition, FieldCondition, Rule } from '../../../../sdk/schema/guardrail.ts'
import { fieldKinds } from '../action.ts'

const closedValues: Partial<Record<string, readonly unknown[]>> = {
  stakes: ['low', 'medium', 'high', 'critical'],
  phase: ['check', 'pre_action', 'record'],
  has_deliberation: [true, false],
  has_reasoning: [true, false],
  has_query: [true, false],
  has_check: [true, false],
}
/** Fields that every action has. */
const alwaysThere = new Set(['description', 'tags', 'agent_id', ...Object.keys(closedValues)])

/** One name for a field however it is written. */
export const fieldName = (field: string): string =>
  Object.hasOwn(fieldKinds, field) || field.startsWith('context.') ? field : `context.${field}`

/** The values that pass: those between the bounds, and of them only `among` where that is known. */
interface Range {
  low: number
  lowOpen: boolean
  high: number
  highOpen: boolean
  among: Set<unknown> | null
}

function narrow(range: Range, { operator, value }: FieldCondition): Range {
  const next = { ...range }
  const keep = (values: Set<unknown>) => {
    next.among = next.among === null ? values : new Set([...next.among].filter((one) => values.has(one)))
  }
  if (operator === '=' || operator === '==') keep(new Set([value]))
  if (operator === 'in') keep(new Set(value as unknown[]))
  if ((operator === '!=' || operator === 'not_in') && next.among) {
    const out = new Set<unknown>([value].flat())
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
  const share = field === 'confidence' || field === 'quality_score'
  const start: Range = {
    low: share || field === 'reason_count' ? 0 : Number.NEGATIVE_INFINITY,
    lowOpen: false,
    high: share ? 1 : Number.POSITIVE_INFINITY,
    highOpen: false,
    among: closedValues[field] ? new Set(closedValues[field]) : null,
  }
  // What excludes can only exclude from what is known to be left.
  const ordered = [...conditions].sort((a, b) => Number(excludes(a)) - Number(excludes(b)))
  const range = ordered.reduce(narrow, start)
  if (range.low > range.high || (range.low === range.high && (range.lowOpen || range.highOpen))) return false
  return range.among === null || [...range.among].some((value) => within(range, value))
}

const excludes = ({ operator }: FieldCondition): boolean => operator === '!=' || operator === 'not_in'

const wantsAbsence = ({ operator, value }: FieldCondition): boolean => operator === 'exists' && value === false

/** True when some action meets all of these conditions on one field. */
export function isPossible(field: string, conditions: readonly FieldCondition[]): boolean {
  const absent = conditions.every((one) => wantsAbsence(one) || one.when_missing === 'match')
  if (absent && !alwaysThere.has(field)) return true
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
