/** Guardrail files to rules: every form of them, and errors with line, column and the key that was meant. */
import * as v from 'valibot'
import { outcomeValues, stakesValues, statusValues } from '../../../sdk/schema/decision.ts'
import {
  type AggregateCondition,
  type BreakerRule,
  type Condition,
  type FieldCondition,
  type Rule,
  RuleFile,
  type TemporalCondition,
} from '../../../sdk/schema/guardrail.ts'
import { fieldKinds } from './action.ts'
import { compileCel } from './cel.ts'
import { explain } from './explain.ts'
import { expandRule, type Origins, original, type Path, type RuleError, readYaml } from './positions.ts'

/** Where something stands; lines and columns count from 1. */
export interface Place {
  file: string
  line: number
  column: number
}

export interface LoadedRule extends Rule, Place {}

export interface ParsedFile {
  rules: LoadedRule[]
  breakers: { rule: BreakerRule; place: Place }[]
  templates: { name: string; place: Place }[]
  errors: RuleError[]
}

/** Reads one guardrail file. Never throws: whatever is wrong is in `errors`. */
export function parseRules(text: string, file: string): ParsedFile {
  const { value: raw, errors, at } = readYaml(text, file)
  const empty = (problems: RuleError[]): ParsedFile => ({ rules: [], breakers: [], templates: [], errors: problems })
  if (errors.length > 0 || raw === null || raw === undefined) return empty(errors)
  const bare = Array.isArray(raw)
  const whole: unknown = bare ? { guardrails: raw } : raw
  const origins: Origins = new Map()
  const locate = (path: Path, message: string): RuleError => {
    const place = original(path, origins)
    return at(bare ? place.slice(1) : place, message)
  }
  const placeOf = (path: Path): Place => {
    const { line, column } = locate(path, '')
    return { file, line, column }
  }
  const parsed = safely(() => {
    const expanded = expandFile(whole, origins)
    return { expanded, ...v.safeParse(RuleFile, expanded) }
  })
  if (parsed === null) return empty([at([], 'is nested too deeply')])
  if (!parsed.success) {
    const problems = parsed.issues.map((issue) => {
      const path = (issue.path ?? []).map(({ key }) => key as string | number)
      return locate(path, explain(issue, path, parsed.expanded))
    })
    return empty(problems)
  }
  const { guardrails, circuit_breakers, template = [] } = parsed.output
  return {
    rules: guardrails.map((rule, index) => ({ ...rule, ...placeOf(['guardrails', index]) })),
    breakers: circuit_breakers.map((rule, index) => ({ rule, place: placeOf(['circuit_breakers', index]) })),
    templates: [template].flat().map((name) => ({ name, place: placeOf(['template']) })),
    errors: guardrails.flatMap((rule, index) =>
      [...ruleProblems(rule, ['guardrails', index])].map(([path, message]) => locate(path, message)),
    ),
  }
}

function expandFile(whole: unknown, origins: Origins): unknown {
  if (whole === null || typeof whole !== 'object' || Array.isArray(whole)) return whole
  // Keys with nothing behind them, as in a file that is still to be filled.
  const filled: Record<string, unknown> = Object.fromEntries(Object.entries(whole).filter(([, part]) => part !== null))
  if (!Array.isArray(filled.guardrails)) return filled
  return {
    ...filled,
    guardrails: filled.guardrails.map((rule, index) => expandRule(rule, ['guardrails', index], origins)),
  }
}

/** Null where the stack ends: conditions may be nested without end. */
function safely<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

// What the schema of a rule can't say: operators with the values and fields that they fit, and expressions that compile.

const ordered: readonly string[] = ['<', '<=', '>', '>=']
const listed: readonly string[] = ['in', 'not_in']

function valueProblem({ operator, value }: FieldCondition): string | null {
  if (operator === 'exists')
    return value === undefined || typeof value === 'boolean' ? null : 'exists takes true or false'
  if (value === undefined) return `${operator} needs a value`
  if (listed.includes(operator)) return Array.isArray(value) ? null : `${operator} needs a list`
  if (Array.isArray(value)) return `${operator} takes no list; use in or not_in`
  return ordered.includes(operator) && typeof value !== 'number' ? `${operator} needs a number` : null
}

/** A field of the action has one kind: a value of another one could never be compared with it. */
function kindProblem({ field, operator, value }: FieldCondition): string | null {
  if (!Object.hasOwn(fieldKinds, field) || operator === 'exists') return null
  const kind = fieldKinds[field as keyof typeof fieldKinds]
  const values = Array.isArray(value) ? value : [value]
  if (kind === 'list')
    return operator === 'contains' && typeof value === 'string' ? null : `${field} is a list of texts; use contains`
  if (operator === 'contains')
    return kind === 'string' && typeof value === 'string' ? null : `${field} is a ${kind}; contains needs texts`
  const wrong = values.find((one) => typeof one !== kind)
  return wrong === undefined ? null : `${field} is a ${kind} and can't be compared with ${JSON.stringify(wrong)}`
}

const closed: Partial<Record<string, readonly string[]>> = {
  stakes: stakesValues,
  status: statusValues,
  outcome: outcomeValues,
}

function temporalProblem(condition: TemporalCondition): string | null {
  const { field, value, window_hours, max_occurrences, between, weekdays, timezone } = condition
  const counts = [field, value, window_hours, max_occurrences].filter((one) => one !== undefined).length
  if (counts > 0 && counts < 4) return 'counting needs field, value, window_hours and max_occurrences together'
  if (counts === 4 && (between || weekdays || timezone)) return 'one condition counts or looks at the clock, not both'
  if (counts === 0 && !between && !weekdays)
    return 'needs field, value, window_hours and max_occurrences, or between, or weekdays'
  if (between && between[0] === between[1]) return 'between needs two different times'
  const known = closed[field ?? '']
  return known && !known.includes(value!) ? `${field} is one of ${known.join(', ')}` : null
}

const aggregateProblem = ({ metric, value }: AggregateCondition): string | null =>
  metric !== 'count' && (value < 0 || value > 1) ? `${metric} lies between 0 and 1` : null

/** The problem of one condition, without those inside of it; null where there is none. */
function conditionProblem(condition: Condition): string | null {
  switch (condition.type) {
    case 'field':
      return valueProblem(condition) ?? kindProblem(condition)
    case 'temporal':
      return temporalProblem(condition)
    case 'aggregate':
      return aggregateProblem(condition)
    case 'compound':
      return condition.operator === 'not' && condition.conditions.length !== 1
        ? 'not takes exactly one condition'
        : null
    case 'cel':
      return compileCel(condition.expression).error
    case 'semantic':
      return null
  }
}

/** Every condition with its path, those inside of others too. */
export function* conditionsOf(conditions: readonly Condition[], path: Path): Generator<[Condition, Path]> {
  for (const [index, condition] of conditions.entries()) {
    yield [condition, [...path, index]]
    if (condition.type === 'compound') yield* conditionsOf(condition.conditions, [...path, index, 'conditions'])
  }
}

/** Compounds within compounds: who needs more has another problem, and evaluation must not end in the stack's end. */
const deepest = 16

/** Everything that is wrong with a rule, by path from `at`. */
export function* ruleProblems(rule: Rule, at: Path): Generator<[Path, string]> {
  for (const [condition, path] of conditionsOf(rule.conditions, [...at, 'conditions'])) {
    if (path.length > at.length + 2 * deepest) {
      yield [path, `rule ${rule.id}: conditions are nested more than ${deepest} deep`]
      return
    }
    const problem = conditionProblem(condition)
    if (problem) yield [path, `rule ${rule.id}: ${problem}`]
  }
  if (rule.conditions.length === 0 && rule.requirements.length === 0)
    yield [at, `rule ${rule.id}: has neither conditions nor requirements`]
}
