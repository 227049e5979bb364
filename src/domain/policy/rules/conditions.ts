/**
 * The kinds of conditions. One table holds each kind's schema, the checks that the schema can't express, its test, and its description in
 * the reference. A new kind needs a schema in `sdk/schema/condition.ts` and a row here.
 */
import type * as v from 'valibot'
import { outcomeValues, stakesValues, statusValues } from '../../../../sdk/schema/decision.ts'
import {
  AggregateCondition,
  CelCondition,
  CommandCondition,
  CompoundCondition,
  type Condition,
  FieldCondition,
  SemanticCondition,
  TemporalCondition,
} from '../../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import { hourMs } from '../../../core/time.ts'
import {
  type Action,
  actionField,
  compareNumbers,
  compileComparison,
  compileField,
  EvaluationError,
  fold,
  SampleError,
} from './action.ts'
import { compileCel } from './cel.ts'
import { onClock } from './clock.ts'
import { commandProblem, compileCommand } from './command.ts'
import { allFacts, type FactName, factField, groupOf, groupsIn, isFact } from './fact-names.ts'
import type { History } from './history.ts'

/** True when the condition holds. @throws EvaluationError when it can't be evaluated */
export type Test = (action: Action, history: History) => boolean | Promise<boolean>

interface ConditionKind<C> {
  schema: v.GenericSchema<unknown, C> & { entries: object }
  /** For the reference page. */
  about: string
  /** The problem of a condition that its schema can't find, apart from nested conditions; null if there is none. */
  problem(condition: C): string | null
  compile(condition: C): Test
}

/** Every kind of condition by its `type`. */
export const conditionKinds: { [T in Condition['type']]: ConditionKind<Extract<Condition, { type: T }>> } = {
  field: {
    schema: FieldCondition,
    about: 'Compares one field of the action, or of its context.',
    problem: (condition) => valueProblem(condition) ?? kindProblem(condition),
    compile(condition) {
      const { field: name, operator, value, when_missing } = condition
      const absent = (operator === 'exists' && value === false) || when_missing === 'match'
      if (isFact(name)) return compileFact(name, condition, absent)
      const compare = compileComparison(condition, skeleton)
      const field = compileField(name)
      // An absent value gets the default of its field, unless the condition says what absence means.
      const assumed = when_missing === undefined ? actionField(name)?.assumed : undefined
      return (action) => {
        const actual = field.value(action) ?? assumed
        // The tool may read the other one. An action's own field is read by name.
        if (actual !== undefined && !actionField(name) && field.lookalikeOf(action) !== null)
          throw new EvaluationError(`the context has ${name} in two spellings`)
        if (actual !== undefined) return compare(actual, (text) => fold(action, text))
        if (field.lookalikeOf(action) !== null)
          throw new EvaluationError(`the context has a key that looks like ${name} but is not`)
        return absent
      }
    },
  },
  semantic: {
    schema: SemanticCondition,
    about: 'Looks for past decisions with a meaning similar to the description.',
    problem: () => null,
    compile: (condition) => async (action, history) =>
      (await history.similar(action.description, condition)) >= condition.min_matches,
  },
  temporal: {
    schema: TemporalCondition,
    about: 'Counts recorded decisions within a window, or looks at the clock; one condition does one of the two.',
    problem: temporalProblem,
    compile(condition) {
      const { window_hours, max_occurrences } = condition
      if (window_hours === undefined || max_occurrences === undefined)
        return (_, history) => onClock(condition, history.now())
      const filter = countedBy(condition)
      return async (_, history) => {
        const created_from_ms = history.now() - window_hours * hourMs
        return (await history.count({ ...filter, created_from_ms })) >= max_occurrences
      }
    },
  },
  aggregate: {
    schema: AggregateCondition,
    about: 'Compares a figure over past decisions.',
    problem: ({ metric, value }) =>
      metric !== 'count' && (value < 0 || value > 1) ? `${metric} is between 0 and 1` : null,
    compile(condition) {
      const { metric, operator, value: bound, min_decisions = metric === 'count' ? 0 : 1 } = condition
      return async (_, history) => {
        const { decisions, value } = await history.aggregate(condition)
        return value !== null && decisions >= min_decisions && compareNumbers(value, operator, bound)
      }
    },
  },
  command: {
    schema: CommandCondition,
    about:
      'Compares one program that `context.command` runs, as the line is understood: behind `sudo`, in `bash -c`, in a here-document, in `$(…)`. All keys must hold of the same program. Without `program`, tools for files count as well. False if the action has neither.',
    problem: commandProblem,
    compile: compileCommand,
  },
  compound: {
    schema: CompoundCondition,
    about:
      'Joins conditions with and, or, or not. A part that can’t be evaluated decides the result only if the others don’t.',
    problem: ({ operator, conditions }) =>
      operator === 'not' && conditions.length !== 1 ? 'not takes exactly one condition' : null,
    compile: ({ conditions, operator }) => compileAll(conditions, operator),
  },
  cel: {
    schema: CelCondition,
    about:
      'An expression in the [Common Expression Language](https://cel.dev). Numbers of the context are floating-point: write `2.0` in arithmetic with them. Beside `action` it sees `command`, `edit`, `sql` and `url`: what is understood of a command, of a tool for files, and of statements and addresses in the arguments of a tool. `matches(text, "expression")` takes a regular expression of RE2 with at most 500 steps, in linear time; `bind` and nested loops are not offered.',
    problem: ({ expression }) => compileCel(expression).error,
    compile({ expression }) {
      const { evaluate } = compileCel(expression)
      const groups = groupsIn(expression)
      const read = contextFieldsIn(expression)
      const evaluateIf = (action: Action, facts: Parameters<typeof evaluate>[1]) => {
        const twin = read.find(({ field }) => field.lookalikeOf(action) !== null)
        if (twin !== undefined) throw new EvaluationError(`the context has ${twin.name} in two spellings`)
        return evaluate(action, facts)
      }
      if (groups.length === 0) return (action) => evaluateIf(action, null)
      return async (action, history) => evaluateIf(action, await allFacts(groups, (name) => history.fact(name, action)))
    },
  },
}

/** The fields of the context that an expression names. */
const contextFieldsIn = (expression: string) =>
  [...new Set(expression.match(/\baction\.context\.[A-Za-z_][\w.]*/g) ?? [])].map((text) => {
    const name = text.slice('action.'.length)
    return { name, field: compileField(name) }
  })

/** A condition on a fact that the service knows about the past. @param absent the result if there is no such fact */
function compileFact(name: FactName, condition: FieldCondition, absent: boolean): Test {
  const { min_decisions } = condition
  const sample = `${groupOf(name)}.n`
  const compare = compileComparison(condition, skeleton)
  return async (action, history) => {
    const n = min_decisions !== undefined && isFact(sample) ? Number(await history.fact(sample, action)) : 0
    if (n < (min_decisions ?? 0)) throw new SampleError(`${sample} is ${n}; ${name} needs ${min_decisions}`)
    const actual = (await history.fact(name, action)) ?? undefined
    return actual === undefined ? absent : compare(actual, (text) => fold(action, text))
  }
}

// A row only takes conditions of its own kind, which the type checker can't infer from the lookup.
const kindOf = ({ type }: Condition): ConditionKind<Condition> => conditionKinds[type] as ConditionKind<never>

/** The problem of one condition, apart from nested conditions; null if there is none. */
export const conditionProblem = (condition: Condition): string | null => kindOf(condition).problem(condition)

/** The keys that a condition of a type may have. */
export const conditionKeys = (type: string): string[] =>
  Object.hasOwn(conditionKinds, type) ? Object.keys(conditionKinds[type as Condition['type']].schema.entries) : ['type']

/**
 * Compiles joined conditions; a rule's are ANDed. Three-valued logic: a part that can't be evaluated decides the result only if the others
 * don't. No promise is created while every part answers synchronously.
 */
export function compileAll(conditions: readonly Condition[], operator: CompoundCondition['operator'] = 'and'): Test {
  const tests = conditions.map((one) => kindOf(one).compile(one))
  if (tests.length === 1 && operator !== 'not') return tests[0]!
  /** The overall result, if this part decides it. */
  const decided = (answer: boolean): boolean | undefined =>
    operator === 'not' ? !answer : answer === (operator === 'or') ? answer : undefined
  /** Continues from the first part that answers asynchronously. */
  const later = async (
    pending: Promise<boolean>,
    first: number,
    failure: unknown,
    action: Action,
    history: History,
  ): Promise<boolean> => {
    let failed = failure
    for (let at = first; at < tests.length; at++) {
      try {
        const whole = decided(await (at === first ? pending : tests[at]!(action, history)))
        if (whole !== undefined) return whole
      } catch (error) {
        failed = reported(failed, error)
      }
    }
    if (failed !== undefined) throw failed
    return operator === 'and'
  }
  return (action, history) => {
    let failed: unknown
    for (let at = 0; at < tests.length; at++) {
      try {
        const answer = tests[at]!(action, history)
        if (typeof answer !== 'boolean') return later(answer, at, failed, action, history)
        const whole = decided(answer)
        if (whole !== undefined) return whole
      } catch (error) {
        failed = reported(failed, error)
      }
    }
    if (failed !== undefined) throw failed
    return operator === 'and'
  }
}

/** Which of two errors to report: one caused by the action is preferred, as it says what to fix. */
const reported = (known: unknown, error: unknown): unknown =>
  known === undefined || (error instanceof EvaluationError && !(known instanceof EvaluationError)) ? error : known

// Checks that the schemas can't express: which values and fields an operator accepts, and which keys belong together.

const ordered: readonly string[] = ['<', '<=', '>', '>=']
const listed: readonly string[] = ['in', 'not_in']

function valueProblem({ field, operator, value }: FieldCondition): string | null {
  if (operator === 'exists')
    return value === undefined || typeof value === 'boolean' ? null : 'exists takes true or false'
  if (value === undefined) return `${field}: expected a value after ${operator}, received none`
  if (listed.includes(operator)) return Array.isArray(value) ? null : `${operator} needs a list`
  if (Array.isArray(value)) return `${operator} takes no list; use in or not_in`
  return ordered.includes(operator) && typeof value !== 'number' ? `${operator} needs a number` : null
}

/** An action field has one kind: a value of another kind could never be compared with it. */
function kindProblem({ field, operator, value, min_decisions }: FieldCondition): string | null {
  if (min_decisions !== undefined && !/^(?:precedents|calibration)\.(?!n$)/.test(field))
    return 'min_decisions is for precedents.failed and calibration.gap'
  const kind = (actionField(field) ?? factField(field))?.kind
  if (kind === undefined || operator === 'exists') return null
  const values = Array.isArray(value) ? value : [value]
  if (kind === 'list')
    return operator === 'contains' && typeof value === 'string' ? null : `${field} is a list of texts; use contains`
  if (operator === 'contains')
    return kind === 'string' && typeof value === 'string' ? null : `${field} is a ${kind}; contains needs texts`
  const wrong = values.find((one) => typeof one !== kind)
  return wrong === undefined ? null : `${field} is a ${kind} and can't be compared with ${JSON.stringify(wrong)}`
}

/** Counted fields that have a closed set of values. */
const closedValues = { stakes: stakesValues, status: statusValues, outcome: outcomeValues } as const
const isClosed = (field: string): field is keyof typeof closedValues => Object.hasOwn(closedValues, field)

function temporalProblem(condition: TemporalCondition): string | null {
  const { field = '', value, window_hours, max_occurrences, between, weekdays, timezone } = condition
  const counts = [condition.field, value, window_hours, max_occurrences].filter((one) => one !== undefined).length
  if (counts > 0 && counts < 4) return 'counting needs field, value, window_hours and max_occurrences together'
  if (counts === 4 && (between || weekdays || timezone)) return 'one condition counts or looks at the clock, not both'
  if (counts === 0 && !between && !weekdays)
    return 'needs field, value, window_hours and max_occurrences, or between, or weekdays'
  if (between && between[0] === between[1]) return 'between needs two different times'
  const known: readonly string[] | null = isClosed(field) ? closedValues[field] : null
  return known && !known.includes(value!) ? `${field} is one of ${known.join(', ')}` : null
}

/** Texts are compared by their skeleton, as in field conditions. Agents are authenticated, and therefore compared exactly. */
function countedBy({ field, value }: TemporalCondition): CountFilter {
  if (isClosed(field!)) return { [field]: [value] }
  return field === 'agent' ? { agent: value! } : { alike: { [field!]: skeleton(value!) } }
}
