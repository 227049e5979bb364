/** CEL expressions over the action: compiled once, typed against its fields, and refused if they could run long. */

import { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { actionFields } from '../../../../sdk/schema/action.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { messageOf } from '../../../core/log.ts'
import { type Action, assumedStakes, EvaluationError, isNullable } from './action.ts'
import { argumentVariables } from './arguments.ts'
import { commandVariables } from './command.ts'
import { type FactGroup, type Facts, factGroups } from './fact-names.ts'

const celTypes = { string: 'string', number: 'dyn', boolean: 'bool', list: 'list<string>' } as const

/** The CEL types of the action's fields; `dyn` for a value that may be null. */
const schema = {
  ...Object.fromEntries(
    Object.entries(actionFields).map(([name, field]) => [
      name,
      isNullable(field) && !('assumed' in field) ? 'dyn' : celTypes[field.kind],
    ]),
  ),
  // Never null, but `dyn` lets rules compare it with null.
  agent_id: 'dyn',
  context: 'map<string, dyn>',
  ...Object.fromEntries(factGroups.map((group) => [group, 'map<string, dyn>'])),
}

const environment = new Environment({
  unlistedVariablesAreDyn: false,
  limits: { maxAstNodes: 500, maxDepth: 50, maxListElements: 500, maxMapEntries: 100, maxCallArguments: 16 },
})
  .registerVariable({ name: 'action', schema })
  .registerVariable('command', 'map<string, dyn>')
  .registerVariable('edit', 'map<string, dyn>')
  .registerVariable('sql', 'map<string, dyn>')
  .registerVariable('url', 'map<string, dyn>')
  .registerFunction('fold(string): string', skeleton)
  .registerFunction('matches(string, string): bool', (text: string, expression: string) => finds(text, expression))

/** Compiled expressions of the rule that is evaluated, and how many steps over texts its action may still take. */
let current: { expressions: ReadonlyMap<string, RE2JS>; action: Action } | null = null
const stepsLeft = new WeakMap<Action, number>()
/** A tenth of a nanosecond to 25 ns each: one character of a text for each step of an expression. */
const maxSteps = 100_000_000

/** Limits what expressions may cost for an action: rules that are not the operator's must not hold others up. */
export const limitSteps = (action: Action, steps: number): void => void stepsLeft.set(action, steps)

function finds(text: string, pattern: string): boolean {
  const { expressions, action } = current!
  const expression = expressions.get(pattern)!
  const left = (stepsLeft.get(action) ?? maxSteps) - text.length * expression.programSize()
  if (left < 0) throw new EvaluationError('matches() would read more text than it may: shorten what it reads')
  stepsLeft.set(action, left)
  return expression.test(text)
}

/** Positions in new states of an automaton, and steps of a reading without one: each takes about 25 ms for one text. */
const [maxPositions, maxSlowSteps] = [100_000, 2_000_000]

/**
 * An automaton decides a text in one step a character, unless the text makes it have ever new states: then the library follows all ways
 * through the expression at once, for each character. Both are limited, so that no text holds others up.
 */
function bounded(expression: RE2JS): RE2JS {
  const engine = expression.re2()
  const { dfa } = engine
  const [match, makeState] = [dfa.match.bind(dfa), dfa.makeState.bind(dfa)]
  const followAll = engine.doExecuteNFA.bind(engine)
  let left = 0
  dfa.match = (...given) => {
    left = maxPositions
    return match(...given)
  }
  dfa.makeState = (positions, ...rest) => {
    left -= positions.length
    return left < 0 ? null : makeState(positions, ...rest)
  }
  engine.doExecuteNFA = (input, ...rest) => {
    if (input.endPos() * expression.programSize() > maxSlowSteps)
      throw new EvaluationError('matches() would take too long with this text: shorten it')
    return followAll(input, ...rest)
  }
  return expression
}

const maxExpression = 1_000
const maxProgram = 500
/** What counts as one step: an escape, a class, or a character. */
const atom =
  /\((?:\?(?:P?<\w{1,40}>|[a-zA-Z-]{0,9}:))?|\\(?:[pP]\{\w{1,40}\}|x\{\w{1,8}\}|[\s\S])|\[\^?\]?(?:\\[\s\S]|\[:\w{1,9}:\]|[^\]\\])*\]|\{\d{1,4}(?:,\d{0,4})?\}|[\s\S]/g

/** About how many steps an expression compiles to, told before it is compiled: a counted repeat may make it huge. */
function stepsOf(expression: string): number {
  const groups = [0]
  let last = 0
  for (const [part] of expression.matchAll(atom)) {
    const counts = /^\{(\d+)(?:,(\d*))?\}$/.exec(part)
    if (part.startsWith('(')) groups.push(0)
    const more = counts
      ? last * (Math.max(Number(counts[1]), Number(counts[2] ?? 0)) - 1)
      : part === ')' && groups.length > 1
        ? groups.pop()!
        : 1
    last = counts ? last + more : more
    groups[groups.length - 1]! += more
  }
  return groups.reduce((sum, one) => sum + one, 0)
}

/** The library would convert the action to a typed value in each evaluation, a third of its time. This converts it once for all expressions. */
const toTyped = environment.parse('action')
const typed = new WeakMap<Action, { action: unknown }>()

function typedOf(action: Action): { action: unknown } {
  let known = typed.get(action)
  if (known === undefined) {
    // An action without stakes is evaluated with those that its record would get.
    known = { action: toTyped({ action: { ...action, stakes: action.stakes ?? assumedStakes } }) }
    typed.set(action, known)
  }
  return known
}

const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

/** Why an expression could run long; null if it can't. @param expressions gets those of `matches`, compiled */
function costly(node: unknown, inLoop: boolean, expressions: Map<string, RE2JS>): string | null {
  if (Array.isArray(node))
    return node.map((one) => costly(one, inLoop, expressions)).find((one) => one !== null) ?? null
  if (node === null || typeof node !== 'object' || !('op' in node) || !('args' in node)) return null
  const { op, args } = node
  if ((op !== 'rcall' && op !== 'call') || !Array.isArray(args)) return costly(args, inLoop, expressions)
  const name = String(args[0])
  // The method of the library backtracks: one crafted text could block the server for minutes. The function does not.
  if (name === 'matches') {
    if (op === 'rcall') return 'text.matches() is not offered; write matches(text, "expression")'
    const problem = expressionProblem(args[1], expressions)
    if (problem !== null) return problem
  }
  // Nested bindings that each double a text would grow it exponentially.
  if (name === 'bind') return 'bind() is not offered'
  if (!loops.has(name)) return costly(args.slice(1), inLoop, expressions)
  if (inLoop) return `${name}() inside another loop is not offered`
  return costly(args[1], inLoop, expressions) ?? costly(args.slice(2), true, expressions)
}

/** What is wrong with the expression of `matches`; null if nothing is. */
function expressionProblem(given: unknown, expressions: Map<string, RE2JS>): string | null {
  const [, pattern] = Array.isArray(given) ? given : []
  const text = pattern !== null && typeof pattern === 'object' && pattern.op === 'value' ? pattern.args : null
  if (typeof text !== 'string') return 'matches() takes its expression as a literal text'
  if (text.length > maxExpression) return `the expression of matches() has at most ${maxExpression} characters`
  const steps = stepsOf(text)
  if (steps > maxProgram)
    return `the expression of matches() has at most ${maxProgram} steps, this one about ${steps}: a counted repeat counts as often as it may`
  try {
    expressions.set(text, bounded(RE2JS.compile(text)))
    return null
  } catch (error) {
    return `matches() can't use ${JSON.stringify(text)}: ${messageOf(error)}`
  }
}

export interface CompiledCel {
  /** What is wrong with the expression; null if nothing is. */
  error: string | null
  /**
   * @param facts null if the expression uses none
   * @throws EvaluationError when a key is absent, types do not match, or the result is not a boolean
   */
  evaluate(action: Action, facts: Partial<Record<FactGroup, Facts>> | null): boolean
}

const firstLine = (error: unknown): string => messageOf(error).split('\n')[0]!

/** Compiles an expression. Never throws. */
export function compileCel(expression: string): CompiledCel {
  const refuse = (error: string): CompiledCel => ({
    error: `expression: ${error}`,
    evaluate() {
      throw new EvaluationError(error)
    },
  })
  try {
    const checked = environment.check(expression)
    if (!checked.valid) return refuse(firstLine(checked.error))
    if (checked.type !== 'bool' && checked.type !== 'dyn') return refuse(`the answer is ${checked.type}, expected bool`)
    const program = environment.parse(expression)
    const expressions = new Map<string, RE2JS>()
    const reason = costly(program.ast, false, expressions)
    if (reason !== null) return refuse(reason)
    const readsCommand = /(?<![\w.])(?:command|edit)\b/.test(expression)
    const readsArguments = /(?<![\w.])(?:sql|url)\b/.test(expression)
    return {
      error: null,
      evaluate(action, facts) {
        let answer: unknown
        current = { expressions, action }
        try {
          const given =
            facts === null
              ? typedOf(action)
              : { action: { ...action, stakes: action.stakes ?? assumedStakes, ...facts } }
          answer = program(
            readsCommand || readsArguments
              ? {
                  ...given,
                  ...(readsCommand && commandVariables(action)),
                  ...(readsArguments && argumentVariables(action)),
                }
              : given,
          )
        } catch (error) {
          throw new EvaluationError(firstLine(error))
        }
        if (typeof answer !== 'boolean') throw new EvaluationError('the expression did not answer true or false')
        return answer
      },
    }
  } catch (error) {
    return refuse(firstLine(error))
  }
}
