/** CEL expressions over the action: compiled once, typed against its fields, and refused if they could run long. */

import { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { actionFields } from '../../../../sdk/schema/action.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { messageOf } from '../../../core/log.ts'
import { type Action, EvaluationError, isNullable } from './action.ts'
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
  .registerFunction('matches(string, string): bool', (text: string, expression: string) =>
    expressionOf(expression).matcher(text).find(),
  )

/** Compiled expressions. They are literals of rules, so there are only as many as rules have. */
const expressions = new Map<string, RE2JS>()
function expressionOf(text: string): RE2JS {
  let known = expressions.get(text)
  if (known === undefined) {
    known = RE2JS.compile(text)
    expressions.set(text, known)
  }
  return known
}
const maxExpression = 1_000

const assumedStakes = actionFields.stakes.assumed

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

/** Why an expression could run long; null if it can't. */
function costly(node: unknown, inLoop: boolean): string | null {
  if (Array.isArray(node)) return node.map((one) => costly(one, inLoop)).find((one) => one !== null) ?? null
  if (node === null || typeof node !== 'object' || !('op' in node) || !('args' in node)) return null
  const { op, args } = node
  if ((op !== 'rcall' && op !== 'call') || !Array.isArray(args)) return costly(args, inLoop)
  const name = String(args[0])
  // The method of the library backtracks: one crafted text could block the server for minutes. The function does not.
  if (name === 'matches') {
    if (op === 'rcall') return 'text.matches() is not offered; write matches(text, "expression")'
    const problem = expressionProblem(args[1])
    if (problem !== null) return problem
  }
  // Nested bindings that each double a text would grow it exponentially.
  if (name === 'bind') return 'bind() is not offered'
  if (!loops.has(name)) return costly(args.slice(1), inLoop)
  if (inLoop) return `${name}() inside another loop is not offered`
  return costly(args[1], inLoop) ?? costly(args.slice(2), true)
}

/** What is wrong with the expression of `matches`; null if nothing is. */
function expressionProblem(given: unknown): string | null {
  const [, pattern] = Array.isArray(given) ? given : []
  const text = pattern !== null && typeof pattern === 'object' && pattern.op === 'value' ? pattern.args : null
  if (typeof text !== 'string') return 'matches() takes its expression as a literal text'
  if (text.length > maxExpression) return `the expression of matches() has at most ${maxExpression} characters`
  try {
    expressionOf(text)
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
    const reason = costly(program.ast, false)
    if (reason !== null) return refuse(reason)
    const readsCommand = /(?<![\w.])(?:command|edit)\b/.test(expression)
    const readsArguments = /(?<![\w.])(?:sql|url)\b/.test(expression)
    return {
      error: null,
      evaluate(action, facts) {
        let answer: unknown
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
