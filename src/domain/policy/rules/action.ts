/** The action that rules evaluate: its own fields, its context, and the action that corresponds to a recorded decision. */
import type * as v from 'valibot'
import { type ActionField, type ActionFieldName, actionFields } from '../../../../sdk/schema/action.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { FieldCondition, Operator } from '../../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { isObject } from '../../../core/json.ts'
import { hasSecret } from '../../../core/secrets.ts'
import { instructionLike, textsIn, textsOf } from '../../record/decision/bridge.ts'

type Given<N extends ActionFieldName> = v.InferOutput<(typeof actionFields)[N]['schema']>

/** An action as rules see it. Fields that were not given are null. */
export type Action = {
  [N in ActionFieldName]: undefined extends Given<N> ? Exclude<Given<N>, undefined> | null : Given<N>
} & { context: Record<string, unknown> }

export type Phase = Action['phase']

/** The definition of an action field; undefined for any other name, which is looked up in the context. */
export const actionField = (name: string): ActionField | undefined =>
  Object.hasOwn(actionFields, name) ? actionFields[name as ActionFieldName] : undefined

/** Whether a field of the action may be null. */
export const isNullable = ({ schema }: ActionField): boolean =>
  schema.type === 'optional' && (schema as { default?: unknown }).default === undefined

/** A field that a rule names, compiled once and read from many actions. */
export interface Field {
  /** The value; undefined if it is absent or null. @throws EvaluationError if the context has two values for it */
  value(action: Action): unknown
  /** A key of the context that looks like the field but is not, so that a rule would miss it; null if there is none. */
  lookalikeOf(action: Action): string | null
}

/** Compiles a field: the action's own if the name is one, else a path in the context, which can never replace an action field. */
export function compileField(name: string): Field {
  if (actionField(name)) {
    const key = name as ActionFieldName
    const wanted = skeleton(name)
    return {
      value: (action) => action[key] ?? undefined,
      lookalikeOf: ({ context }) =>
        keysBySkeleton(context)
          .get(wanted)
          ?.find((one) => one !== name) ?? null,
    }
  }
  const below = name.startsWith('context.') ? name.slice('context.'.length) : name
  const path = pathOf(below)
  return {
    value({ context }) {
      if (path.length === 1) return (Object.hasOwn(context, below) ? context[below] : undefined) ?? undefined
      const found = [...valuesAt(context, path)]
      if (found.length > 1) throw new EvaluationError(`the context has ${found.length} values for ${name}`)
      return found[0] ?? undefined
    },
    lookalikeOf: ({ context }) => lookalikeAt(context, path),
  }
}

/** Skeletons of texts, cached for each action because many rules compare the same texts. */
const folds = new WeakMap<Action, Map<string, string>>()

/** The skeleton of a text of the action. */
export function fold(action: Action, text: string): string {
  let known = folds.get(action)
  if (!known) {
    known = new Map()
    folds.set(action, known)
  }
  const folded = known.get(text) ?? skeleton(text)
  known.set(text, folded)
  return folded
}

/** The project of an action: its own field, or else the one in its context. */
export function projectOf({ project, context }: Pick<Action, 'project' | 'context'>): string | null {
  if (project !== null) return project
  return typeof context.project === 'string' && context.project.trim() !== '' ? context.project : null
}

/** The stakes of a record if its agent gave none. */
export const assumedStakes = actionFields.stakes.assumed

/**
 * The action that corresponds to a recorded decision. Deliberation that the caller reports proves nothing: only queries, checks and
 * reasoning that the service tracked itself satisfy a `has_…` field.
 * @param context of the action; rules do not read the record's text as context
 * @param stakes as given, as is `scope`
 */
export function recordedAction(
  record: DecisionRecord,
  context: Action['context'] = {},
  stakes: Action['stakes'] = record.stakes,
  scope: Action['scope'] = null,
): Action {
  const protocol = record.pre_decision_protocol
  const tracked = (record.deliberation?.steps ?? []).filter(({ given }) => given !== true)
  const noted = (type: string) => tracked.some((step) => step.type === type)
  return {
    description: record.decision,
    category: record.category,
    stakes,
    // As it was recorded: a later update does not change what was decided.
    confidence: record.confidence_at_record,
    tags: record.tags,
    project: projectOf({ project: record.project?.name ?? null, context }),
    pr: record.project?.pr ?? null,
    scope,
    agent_id: record.recorded_by,
    phase: 'record',
    reason_count: record.reasons.length,
    quality_score: record.quality.score,
    instruction_like: instructionLike(textsOf(record)),
    secret_masked: hasSecret([...textsOf(record), ...textsIn(context)]),
    has_deliberation: tracked.length > 0,
    has_reasoning: noted('reasoning'),
    has_query: noted('query') || (protocol?.query_run === true && protocol.given !== true),
    has_check: noted('guardrail_check') || (protocol?.guardrails_checked === true && protocol.given !== true),
    context,
  }
}

const maxBytes = 65_536
const maxDepth = 8

function isWithin(value: unknown, left: number): boolean {
  if (value === null || typeof value !== 'object') return true
  return left > 0 && Object.values(value).every((inner) => isWithin(inner, left - 1))
}

/** What is wrong with the context of an action that a call gave; null if nothing is. */
export function contextProblem(
  context: Record<string, unknown>,
): { message: string; expected: string; received: string } | null {
  const refuse = (expected: string, received: string) => ({
    message: `expected ${expected}, received ${received}`,
    expected,
    received,
  })
  // The depth is checked first: a value that is nested too deeply can't be serialised to measure it.
  if (!isWithin(context, maxDepth)) return refuse(`at most ${maxDepth} levels`, 'more')
  const bytes = Buffer.byteLength(JSON.stringify(context))
  return bytes > maxBytes ? refuse(`at most ${maxBytes} bytes of JSON`, `${bytes}`) : null
}

// The operators of field conditions. A value that an operator can't compare is an error, and errors fail closed.

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
type Comparison = (actual: unknown, fold: (text: string) => string) => boolean

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

/** The project and the scope that an action names. */
export const namesOf = (action: Action): string[] =>
  [projectOf(action), action.scope].flatMap((one) => (one === null ? [] : [fold(action, one)]))

// Paths in the context of an action, compiled once and followed in many actions.

/** The keys that may begin at each step of a path, shortest first, each with its skeleton. One key may span several steps, as in `{"a.b": 1}`. */
type Path = readonly (readonly { key: string; look: string }[])[]

function pathOf(name: string): Path {
  const steps = name.split('.')
  return steps.map((_, from) =>
    steps.slice(from).map((_, more) => {
      const key = steps.slice(from, from + more + 1).join('.')
      return { key, look: skeleton(key) }
    }),
  )
}

/** Every value at a path, by own keys only. */
function* valuesAt(level: unknown, path: Path, from = 0): Generator {
  if (from === path.length) {
    yield level
    return
  }
  if (!isObject(level)) return
  let end = from
  for (const { key } of path[from]!) {
    end++
    if (Object.hasOwn(level, key)) yield* valuesAt(level[key], path, end)
  }
}

/** A key that looks like part of the path but is not; null if there is none. */
function lookalikeAt(level: unknown, path: Path, from = 0): string | null {
  if (from === path.length || !isObject(level)) return null
  const looks = keysBySkeleton(level)
  let end = from
  for (const { key, look } of path[from]!) {
    end++
    const fake = looks.get(look)?.find((one) => one !== key)
    if (fake !== undefined) return fake
    const below = Object.hasOwn(level, key) ? lookalikeAt(level[key], path, end) : null
    if (below !== null) return below
  }
  return null
}

/** Keys by their skeleton, cached for each object because many rules read the same context. */
const skeletons = new WeakMap<object, Map<string, string[]>>()

function keysBySkeleton(level: Record<string, unknown>): Map<string, string[]> {
  let found = skeletons.get(level)
  if (!found) {
    found = Map.groupBy(Object.keys(level), (key) => skeleton(key))
    skeletons.set(level, found)
  }
  return found
}
