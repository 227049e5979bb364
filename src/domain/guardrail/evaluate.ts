/** Evaluates rules against an action: allowed or not, and why. A rule that can't be evaluated counts against the action. */
import type { Rule } from '../../../sdk/schema/guardrail.ts'
import type { Violation } from '../../../sdk/schema/policy.ts'
import { type Action, compileField, type Field } from './action.ts'
import { compileAll, type Test } from './conditions.ts'
import type { History } from './history.ts'
import { EvaluationError } from './operators.ts'
import type { LoadedRule } from './parse.ts'

export interface Verdict {
  allowed: boolean
  violations: Violation[]
  warnings: Violation[]
  /** Ids of the rules that fired, including those that only log. */
  fired: string[]
  /** Number of rules loaded. */
  evaluated: number
}

export interface CompiledRule {
  rule: LoadedRule
  test: Test
  required: { name: string; field: Field }[]
}

export const compileRules = (rules: readonly LoadedRule[]): CompiledRule[] =>
  rules.map((rule) => ({
    rule,
    test: compileAll(rule.conditions),
    required: rule.requirements.map((name) => ({ name, field: compileField(name) })),
  }))

/** The scopes that a rule is for; empty for all. */
export const scopesOf = ({ scope }: Rule): string[] =>
  scope === undefined ? [] : Array.isArray(scope) ? scope : [scope]

/** An action without project and scope is outside of every scope. */
function inScope(rule: LoadedRule, action: Action): boolean {
  const scopes = scopesOf(rule)
  return scopes.length === 0 || [action.project, action.scope].some((one) => one !== null && scopes.includes(one))
}

function violation(
  { id, name, description, message, suggestion, action }: LoadedRule,
  failed: string[],
  error: string | null,
): Violation {
  const fallback =
    failed.length > 0 ? `Required and not true: ${failed.join(', ')}` : (description ?? `Guardrail ${id} applies`)
  return {
    guardrail_id: id,
    name: name ?? description ?? id,
    message:
      error === null ? (message ?? fallback) : `${message ?? fallback} (the rule could not be evaluated: ${error})`,
    severity: action === 'block' ? 'block' : 'warn',
    suggestion: suggestion ?? null,
    error,
  }
}

/** Errors of an engine behind a condition fail closed too; their text may name files, so the verdict leaves it out. */
const reasonOf = (error: unknown): string =>
  error instanceof EvaluationError ? error.message : 'its data could not be read'

/** @param onFault reports errors that are not the action's own, for the log */
export async function evaluate(
  rules: readonly CompiledRule[],
  action: Action,
  history: History,
  onFault: (rule: string, error: unknown) => void,
): Promise<Verdict> {
  const violations: Violation[] = []
  const warnings: Violation[] = []
  const fired: string[] = []
  for (const { rule, test, required } of rules) {
    if (!inScope(rule, action)) continue
    let error: string | null = null
    try {
      const answer = test(action, history)
      if (!(typeof answer === 'boolean' ? answer : await answer)) continue
    } catch (thrown) {
      if (!(thrown instanceof EvaluationError)) onFault(rule.id, thrown)
      error = reasonOf(thrown)
    }
    const failed = required.filter(({ field }) => field.value(action) !== true).map(({ name }) => name)
    if (error === null && required.length > 0 && failed.length === 0) continue
    fired.push(rule.id)
    if (rule.action === 'block') violations.push(violation(rule, failed, error))
    else if (rule.action === 'warn') warnings.push(violation(rule, failed, error))
  }
  return { allowed: violations.length === 0, violations, warnings, fired, evaluated: rules.length }
}
