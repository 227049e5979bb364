/** Rules compiled for evaluation: their scopes, tests and requirements. */
import type { EvidenceRequirement, Rule } from '../../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { type Action, compileField, type Field } from './action.ts'
import { compileAll, type Test } from './conditions.ts'
import type { History } from './history.ts'
import { compileModify, type Modification } from './modify.ts'
import type { LoadedRule } from './parse.ts'

export interface CompiledRule {
  rule: LoadedRule
  test: Test
  required: { name: string; field: Field }[]
  evidence: EvidenceRequirement[]
  /** Who must approve. */
  approvers: string[]
  scopes: readonly string[]
  /** Null unless the rule modifies the action. */
  change: Modification | null
}

export const compileRules = (rules: readonly LoadedRule[]): CompiledRule[] =>
  rules.map((rule) => ({
    rule,
    test: compileAll(rule.conditions),
    required: rule.requirements.map((name) => ({ name, field: compileField(name) })),
    evidence: rule.requires.filter((one) => 'evidence' in one),
    approvers: rule.requires.flatMap((one) => ('approval' in one ? [one.approval] : [])),
    scopes: scopesOf(rule).map(skeleton),
    change: rule.modify ? compileModify(rule.id, rule.modify) : null,
  }))

/** The scopes that a rule applies to; empty for all. */
export const scopesOf = ({ scope }: Rule): string[] =>
  scope === undefined ? [] : Array.isArray(scope) ? scope : [scope]

export const requiresAny = ({ required, evidence, approvers }: CompiledRule): boolean =>
  required.length + evidence.length + approvers.length > 0

/** The requirements of a rule that are not met. */
export interface Missing {
  fields: string[]
  evidence: string[]
  approvers: string[]
  /** Numbers of the evidence records that were found. */
  seqs: number[]
}

export async function missingOf(compiled: CompiledRule, action: Action, history: History): Promise<Missing> {
  const { required, evidence, approvers } = compiled
  const missing: Missing = {
    fields: required.filter(({ field }) => field.value(action) !== true).map(({ name }) => name),
    evidence: [],
    approvers,
    seqs: [],
  }
  for (const one of evidence) {
    const found = await history.evidence(one, action)
    if ('seqs' in found) missing.seqs.push(...found.seqs)
    else missing.evidence.push(found.missing)
  }
  return missing
}

/** Nothing is required, or all requirements are met. */
export const complete: Missing = { fields: [], evidence: [], approvers: [], seqs: [] }

/** An action that names neither project nor scope is outside every scope. */
export const inScope = (scopes: readonly string[], names: readonly string[]): boolean =>
  scopes.length === 0 || names.some((one) => scopes.includes(one))

/** Whether the conditions of a rule hold, or can't be evaluated. */
export const holds = async ({ test }: CompiledRule, action: Action, history: History): Promise<boolean> => {
  try {
    return await test(action, history)
  } catch {
    // What would be found in the named project is unknown.
    return true
  }
}
