/** Conditions compiled to tests of an action. */
import type { Condition, TemporalCondition } from '../../../sdk/schema/guardrail.ts'
import { weekdays } from '../../../sdk/schema/guardrail.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { type Action, disguised, fieldValue } from './action.ts'
import { compileCel } from './cel.ts'
import type { History } from './history.ts'
import { compareNumbers, EvaluationError, holds } from './operators.ts'

/** True when the condition holds. @throws EvaluationError when it can't be judged */
export type Test = (action: Action, history: History) => boolean | Promise<boolean>

const hourMs = 3_600_000

function counted({ field, value }: TemporalCondition): DecisionFilter {
  if (field === 'stakes' || field === 'status' || field === 'outcome') return { [field]: [value] } as DecisionFilter
  return field === 'tag' ? { tags: [value!] } : ({ [field!]: value } as DecisionFilter)
}

/** The day of the week and the time of day, in a zone. */
function clockAt(now_ms: number, timezone = 'UTC'): { day: (typeof weekdays)[number]; time: string } {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(now_ms)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  return { day: part('weekday').toLowerCase() as (typeof weekdays)[number], time: `${part('hour')}:${part('minute')}` }
}

/** The clock's condition. Past midnight, the small hours belong to the day on which the span began. */
function onClock({ between, weekdays: days, timezone }: TemporalCondition, now_ms: number): boolean {
  const { day, time } = clockAt(now_ms, timezone)
  const on = (one: string) => days === undefined || days.includes(one as (typeof weekdays)[number])
  if (between === undefined) return on(day)
  const [from, to] = between
  if (from <= to) return time >= from && time < to && on(day)
  const yesterday = weekdays[(weekdays.indexOf(day) + 6) % 7]!
  return (time >= from && on(day)) || (time < to && on(yesterday))
}

/** Compiles a condition of any kind. */
export function compileCondition(condition: Condition): Test {
  switch (condition.type) {
    case 'field':
      return (action) => {
        const actual = fieldValue(action, condition.field)
        if (actual !== undefined) return holds(condition, actual)
        const fake = disguised(action, condition.field)
        if (fake !== null)
          throw new EvaluationError(`the context has a key that looks like ${condition.field} and is not`)
        if (condition.operator === 'exists' && condition.value === false) return true
        return condition.when_missing === 'match'
      }
    case 'compound': {
      const tests = condition.conditions.map(compileCondition)
      return (action, history) => combine(condition.operator, tests, action, history)
    }
    case 'cel': {
      const { evaluate } = compileCel(condition.expression)
      return (action) => evaluate(action)
    }
    case 'semantic':
      return async (action, history) => (await history.similar(action.description, condition)) >= condition.min_matches
    case 'temporal': {
      const { window_hours, max_occurrences } = condition
      if (window_hours === undefined || max_occurrences === undefined)
        return (_, history) => onClock(condition, history.now())
      return async (_, history) =>
        (await history.count({ ...counted(condition), created_from_ms: history.now() - window_hours * hourMs })) >=
        max_occurrences
    }
    case 'aggregate':
      return async (_, history) => {
        const { decisions, value } = await history.aggregate(condition)
        return (
          value !== null &&
          decisions >= condition.min_decisions &&
          compareNumbers(value, condition.operator, condition.value)
        )
      }
  }
}

/** What a test answers, with its error as a value: `or` holds when one part holds, whatever the others threw. */
async function outcomeOf(test: Test, action: Action, history: History): Promise<boolean | EvaluationError> {
  try {
    return await test(action, history)
  } catch (error) {
    if (error instanceof EvaluationError) return error
    throw error
  }
}

/** Three-valued logic: an error decides only where the other parts don't. */
async function combine(
  operator: 'and' | 'or' | 'not',
  tests: readonly Test[],
  action: Action,
  history: History,
): Promise<boolean> {
  let error: EvaluationError | null = null
  for (const test of tests) {
    const answer = await outcomeOf(test, action, history)
    if (answer instanceof EvaluationError) error ??= answer
    else if (operator === 'not') return !answer
    else if (answer === (operator === 'or')) return answer
  }
  if (error) throw error
  return operator === 'and'
}

/** Conditions that are ANDed, as a rule's are. */
export function compileAll(conditions: readonly Condition[]): Test {
  const tests = conditions.map(compileCondition)
  if (conditions.every(({ type }) => type === 'field' || type === 'cel')) return compileFast(tests)
  return (action, history) => combine('and', tests, action, history)
}

/** The same without promises, for rules that ask nothing of the past. */
const compileFast =
  (tests: readonly Test[]): Test =>
  (action, history) => {
    let failed: EvaluationError | null = null
    for (const test of tests) {
      try {
        if (test(action, history) === false) return false
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error
        failed ??= error
      }
    }
    if (failed) throw failed
    return true
  }
