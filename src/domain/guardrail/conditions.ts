/** Conditions compiled to tests of an action. */
import { type Condition, type FieldCondition, type TemporalCondition, weekdays } from '../../../sdk/schema/guardrail.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { type Action, compileField } from './action.ts'
import { compileCel } from './cel.ts'
import type { History } from './history.ts'
import { compareNumbers, EvaluationError, holds } from './operators.ts'

/** True when the condition holds. @throws EvaluationError when it can't be judged */
export type Test = (action: Action, history: History) => boolean | Promise<boolean>
type Of<T extends Condition['type']> = Extract<Condition, { type: T }>

const hourMs = 3_600_000

function compileFieldCondition(condition: FieldCondition): Test {
  const { field: name, operator, value, when_missing } = condition
  const field = compileField(name)
  const absent = (operator === 'exists' && value === false) || when_missing === 'match'
  return (action) => {
    const actual = field.value(action)
    if (actual !== undefined) return holds(condition, actual)
    if (field.disguised(action) !== null)
      throw new EvaluationError(`the context has a key that looks like ${name} and is not`)
    return absent
  }
}

function countedBy({ field, value }: Of<'temporal'>): DecisionFilter {
  if (field === 'stakes' || field === 'status' || field === 'outcome') return { [field]: [value] } as DecisionFilter
  return field === 'tag' ? { tags: [value!] } : ({ [field!]: value } as DecisionFilter)
}

function compileTemporal(condition: Of<'temporal'>): Test {
  const { window_hours, max_occurrences } = condition
  if (window_hours === undefined || max_occurrences === undefined)
    return (_, history) => onClock(condition, history.now())
  const filter = countedBy(condition)
  return async (_, history) => {
    const created_from_ms = history.now() - window_hours * hourMs
    return (await history.count({ ...filter, created_from_ms })) >= max_occurrences
  }
}

function compileAggregate(condition: Of<'aggregate'>): Test {
  const { metric, operator, value: bound, min_decisions = metric === 'count' ? 0 : 1 } = condition
  return async (_, history) => {
    const { decisions, value } = await history.aggregate(condition)
    return value !== null && decisions >= min_decisions && compareNumbers(value, operator, bound)
  }
}

/** True for conditions that ask nothing of the past, and so need no promise. */
function isInstant(condition: Condition): boolean {
  if (condition.type === 'compound') return condition.conditions.every(isInstant)
  return (
    condition.type === 'field' ||
    condition.type === 'cel' ||
    (condition.type === 'temporal' && condition.field === undefined)
  )
}

/** Compiles a condition of any kind. */
export function compileCondition(condition: Condition): Test {
  switch (condition.type) {
    case 'field':
      return compileFieldCondition(condition)
    case 'compound':
      return compileAll(condition.conditions, condition.operator)
    case 'cel': {
      const { evaluate } = compileCel(condition.expression)
      return (action) => evaluate(action)
    }
    case 'semantic':
      return async (action, history) => (await history.similar(action.description, condition)) >= condition.min_matches
    case 'temporal':
      return compileTemporal(condition)
    case 'aggregate':
      return compileAggregate(condition)
  }
}

type Junction = 'and' | 'or' | 'not'

/** Three-valued logic: what can't be judged decides only where the other parts don't. Gathers answers until one decides. */
function junction(operator: Junction) {
  let failed: unknown
  return {
    /** The whole answer, where this part decides it. */
    answered: (answer: boolean): boolean | undefined =>
      operator === 'not' ? !answer : answer === (operator === 'or') ? answer : undefined,
    threw(error: unknown) {
      // An error of the action's own is the better one to tell: it says what to mend.
      if (failed === undefined || (error instanceof EvaluationError && !(failed instanceof EvaluationError)))
        failed = error
    },
    end(): boolean {
      if (failed !== undefined) throw failed
      return operator === 'and'
    },
  }
}

/** Compiles conditions that are joined; a rule's are ANDed. */
export function compileAll(conditions: readonly Condition[], operator: Junction = 'and'): Test {
  const tests = conditions.map(compileCondition)
  if (conditions.every(isInstant)) {
    return (action, history) => {
      const parts = junction(operator)
      for (const test of tests) {
        try {
          const whole = parts.answered(test(action, history) as boolean)
          if (whole !== undefined) return whole
        } catch (error) {
          parts.threw(error)
        }
      }
      return parts.end()
    }
  }
  return async (action, history) => {
    const parts = junction(operator)
    for (const test of tests) {
      try {
        const whole = parts.answered(await test(action, history))
        if (whole !== undefined) return whole
      } catch (error) {
        parts.threw(error)
      }
    }
    return parts.end()
  }
}

// Conditions on the time of day and the day of the week.

type Weekday = (typeof weekdays)[number]

/** Made once for each zone: making one costs more than all the rest of a check. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatIn(timezone: string): Intl.DateTimeFormat {
  let format = formats.get(timezone)
  if (!format) {
    const shape = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, ...shape })
    formats.set(timezone, format)
  }
  return format
}

/** The day of the week and the time of day, in a zone. */
function clockAt(now_ms: number, timezone: string): { day: Weekday; time: string } {
  const parts = formatIn(timezone).formatToParts(now_ms)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  return { day: part('weekday').toLowerCase() as Weekday, time: `${part('hour')}:${part('minute')}` }
}

/** Whether the clock's condition holds. Past midnight, the small hours belong to the day on which the span began. */
export function onClock({ between, weekdays: days, timezone = 'UTC' }: TemporalCondition, now_ms: number): boolean {
  const { day, time } = clockAt(now_ms, timezone)
  const on = (one: Weekday) => days === undefined || days.includes(one)
  if (between === undefined) return on(day)
  const [from, to] = between
  if (from <= to) return time >= from && time < to && on(day)
  const yesterday = weekdays[(weekdays.indexOf(day) + 6) % 7]!
  return (time >= from && on(day)) || (time < to && on(yesterday))
}
