/** Rules that change an action: `set` and `remove` are applied to a copy, and the changes are returned. */
import * as v from 'valibot'
import type { Modify } from '../../../../sdk/schema/guardrail.ts'
import { ActionParams, type Change } from '../../../../sdk/schema/policy.ts'
import { isObject } from '../../../core/json.ts'
import { withOptions } from '../command/rewrite.ts'
import type { Action } from './action.ts'
import { EvaluationError } from './action.ts'

interface Modified {
  after: Action
  changed: Change[]
}

/**
 * Applies the changes of one rule; null if the command has no place for them. @throws EvaluationError if a path leads through a value that is
 * not an object
 * @param isChanged whether another rule changed the action before, which is then judged again
 */
export type Modification = (action: Action, isChanged: boolean) => Modified | null

const given = ActionParams.entries
type Given = keyof typeof given
const isGiven = (name: string): name is Given => Object.hasOwn(given, name) && name !== 'context'
const context = 'context.'

/** The action in the form in which a caller gives it. */
export const givenOf = (action: Action): Record<string, unknown> =>
  Object.fromEntries(Object.keys(given).map((name) => [name, action[name as Given]]))

/** What is wrong with the changes of a rule; null if nothing is. */
export function modifyProblem({ set, remove, options }: Modify): string | null {
  const all = [...Object.keys(set), ...remove]
  if (all.length + options.length === 0) return 'modify needs set, remove or options'
  for (const [name, value] of Object.entries(set)) {
    if (name.startsWith(context) && name.length > context.length) continue
    if (!isGiven(name)) return `modify can set fields of the action and context.<key>, not ${name}`
    if (!v.is(given[name], value)) return `${name} can't be ${JSON.stringify(value)}`
  }
  for (const name of remove) {
    if (Object.hasOwn(set, name)) return `${name} is set and removed`
    if (name.startsWith(context) && name.length > context.length) continue
    if (!isGiven(name) || !v.is(given[name], undefined)) return `${name} can't be removed`
  }
  return null
}

type Plain = Record<string, unknown>

/** A copy of the object with a value at the path; undefined removes it. */
function withValue(level: Plain, [step, ...rest]: readonly string[], value: unknown, name: string): Plain {
  const copy = Object.fromEntries(Object.entries(level).filter(([key]) => key !== step))
  if (rest.length === 0) return value === undefined ? copy : { ...copy, [step!]: value }
  const inner = Object.hasOwn(level, step!) ? level[step!] : undefined
  if (inner === undefined && value === undefined) return level
  if (inner !== undefined && !isObject(inner))
    throw new EvaluationError(`${name} is inside a value that is not an object`)
  return { ...copy, [step!]: withValue(inner ?? {}, rest, value, name) }
}

/** The value at a path; undefined if there is none. */
function valueAt(level: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return level
  return isObject(level) && Object.hasOwn(level, step) ? valueAt(level[step], rest) : undefined
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The command with options replaced, and the fields of the tool's input that hold the same line; null if it does not say them plainly. */
function withSafeOptions(
  rule: string,
  options: Modify['options'],
  action: Action,
  isChanged: boolean,
): Modified | null {
  const { command: before, input } = action.context
  if (typeof before !== 'string') return null
  const line = options.reduce((text, one) => withOptions(text, one) ?? text, before)
  if (line === before) return isChanged ? { after: action, changed: [] } : null
  const changed: Change[] = [{ field: 'context.command', before, after: line, rule }]
  let context: Plain = { ...action.context, command: line }
  if (isObject(input))
    for (const [key, value] of Object.entries(input)) {
      if (value !== before) continue
      context = withValue(context, ['input', key], line, 'context.input')
      changed.push({ field: `context.input.${key}`, before, after: line, rule })
    }
  return { after: { ...action, context }, changed }
}

/** Compiles the changes of a rule. */
export function compileModify(rule: string, { set, remove, options }: Modify): Modification {
  const all: [string, unknown][] = [
    ...Object.entries(set),
    ...remove.map((name): [string, unknown] => [name, undefined]),
  ]
  return (action, isChanged) => {
    const safe = options.length > 0 ? withSafeOptions(rule, options, action, isChanged) : { after: action, changed: [] }
    if (safe === null) return null
    let { after } = safe
    const changed: Change[] = [...safe.changed]
    for (const [name, value] of all) {
      const key = name.slice(context.length)
      // A name with a dot is a single key if the context has that key.
      const path = !name.startsWith(context) ? [] : Object.hasOwn(after.context, key) ? [key] : key.split('.')
      const before = path.length > 0 ? valueAt(after.context, path) : after[name as Given]
      const wanted = path.length === 0 && value === undefined ? v.getDefault(given[name as Given] as never) : value
      if (same(before, wanted)) continue
      after =
        path.length > 0
          ? { ...after, context: withValue(after.context, path, wanted, name) }
          : ({ ...after, [name]: wanted ?? null } as Action)
      changed.push({ field: name, before: before ?? null, after: wanted ?? null, rule })
    }
    return { after, changed }
  }
}
