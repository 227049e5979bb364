/** Parses guardrail files in any of their forms to rules. Errors have a line, a column and the key that was probably meant. */
import * as v from 'valibot'
import { type BreakerRule, type Condition, type Rule, RuleFile } from '../../../../sdk/schema/guardrail.ts'
import type { RuleProblem } from '../../../../sdk/schema/policy.ts'
import { actionField } from './action.ts'
import { conditionProblem } from './conditions.ts'
import { explain } from './explain.ts'
import { isFact } from './fact-names.ts'
import { modifyProblem } from './modify.ts'
import { expandRule, type Origins, original, type Path, readYaml } from './positions.ts'

/** The position of a part of a file. */
type Place = Omit<RuleProblem, 'message'>

export interface LoadedRule extends Rule, Place {
  /** Whose statements may satisfy a rule of its file. */
  trust: RuleFile['trust']
  /** Fields whose absence makes the rule apply, although the rule does not say so. */
  assumed_match: string[]
}

export interface ParsedFile {
  rules: LoadedRule[]
  breakers: { rule: BreakerRule; place: Place }[]
  templates: { name: string; place: Place }[]
  errors: RuleProblem[]
}

/** Reads one guardrail file. Never throws: everything that is wrong is in `errors`. */
export function parseRules(text: string, file: string): ParsedFile {
  const { value: raw, errors, at } = readYaml(text, file)
  const empty = (problems: RuleProblem[]): ParsedFile => ({ rules: [], breakers: [], templates: [], errors: problems })
  if (errors.length > 0 || raw === null || raw === undefined) return empty(errors)
  const bare = Array.isArray(raw)
  const whole: unknown = bare ? { guardrails: raw } : raw
  const origins: Origins = new Map()
  const locate = (path: Path, message: string): RuleProblem => {
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
  const { guardrails, circuit_breakers, trust, template = [] } = parsed.output
  return {
    rules: guardrails.map((rule, index) => ({
      ...withDefaults(rule),
      trust,
      ...placeOf(['guardrails', index]),
    })),
    breakers: circuit_breakers.map((rule, index) => ({ rule, place: placeOf(['circuit_breakers', index]) })),
    templates: [template].flat().map((name) => ({ name, place: placeOf(['template']) })),
    errors: guardrails.flatMap((rule, index) =>
      [...ruleProblems(rule, ['guardrails', index])].map(([path, message]) => locate(path, message)),
    ),
  }
}

function expandFile(whole: unknown, origins: Origins): unknown {
  if (whole === null || typeof whole !== 'object' || Array.isArray(whole)) return whole
  // Keys without a value are dropped, as in a file that is still to be filled in.
  const filled: Record<string, unknown> = Object.fromEntries(Object.entries(whole).filter(([, part]) => part !== null))
  if (!Array.isArray(filled.guardrails)) return filled
  return {
    ...filled,
    guardrails: filled.guardrails.map((rule, index) => expandRule(rule, ['guardrails', index], origins)),
  }
}

/** Returns null if the stack overflows: conditions may be nested to any depth. */
function safely<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * Makes every field condition say what an absent field means. Leaving out a field of the context must not bypass a rule that blocks, so
 * the default is the answer with which the rule applies. Inside `not` it is the opposite one.
 */
function withDefaults(rule: Rule): Rule & Pick<LoadedRule, 'assumed_match'> {
  const assumed_match: string[] = []
  const filled = (one: Condition, applies: boolean): Condition => {
    if (one.type === 'compound')
      return { ...one, conditions: one.conditions.map((inner) => filled(inner, applies !== (one.operator === 'not'))) }
    if (one.type !== 'field' || one.when_missing !== undefined || actionField(one.field)?.assumed) return one
    const guarded =
      rule.action === 'block' && one.operator !== 'exists' && !actionField(one.field) && !isFact(one.field)
    if (guarded) assumed_match.push(one.field)
    return { ...one, when_missing: guarded && applies ? 'match' : 'no_match' }
  }
  return { ...rule, conditions: rule.conditions.map((one) => filled(one, true)), assumed_match }
}

/** Every condition with its path, including nested ones. */
function* conditionsOf(conditions: readonly Condition[], path: Path): Generator<[Condition, Path]> {
  for (const [index, condition] of conditions.entries()) {
    yield [condition, [...path, index]]
    if (condition.type === 'compound') yield* conditionsOf(condition.conditions, [...path, index, 'conditions'])
  }
}

/** Limit of nested compounds: evaluation must not overflow the stack. */
const maxDepth = 16

/** Everything that is wrong with a rule, by path from `at`. */
function* ruleProblems(rule: Rule, at: Path): Generator<[Path, string]> {
  for (const [condition, path] of conditionsOf(rule.conditions, [...at, 'conditions'])) {
    if (path.length > at.length + 2 * maxDepth) {
      yield [path, `rule ${rule.id}: conditions are nested more than ${maxDepth} deep`]
      return
    }
    const problem = conditionProblem(condition)
    if (problem) yield [path, `rule ${rule.id}: ${problem}`]
  }
  if (rule.conditions.length + rule.requirements.length + rule.requires.length === 0)
    yield [at, `rule ${rule.id}: has neither conditions nor requirements`]
  for (const key of ['step_up', 'defer', 'modify'] as const)
    if (rule[key] && rule.action !== key) yield [[...at, key], `rule ${rule.id}: ${key} needs action: ${key}`]
  if (rule.action === 'defer' && !rule.defer) yield [at, `rule ${rule.id}: action: defer needs defer.reason`]
  if (rule.action === 'modify') {
    const problem = rule.modify ? modifyProblem(rule.modify) : 'action: modify needs modify'
    if (problem) yield [rule.modify ? [...at, 'modify'] : at, `rule ${rule.id}: ${problem}`]
  }
}
