/** Rules that are ready to be evaluated: whom they are for, what they test, and what they require. */
import type { EvidenceRequirement, Rule } from '../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../sdk/storage/skeleton.ts'
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
  /** Of a rule that modifies. */
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

/** The scopes that a rule is for; empty for all. */
export const scopesOf = ({ scope }: Rule): string[] =>
  scope === undefined ? [] : Array.isArray(scope) ? scope : [scope]

export const requiresAny = ({ required, evidence, approvers }: CompiledRule): boolean =>
  required.length + evidence.length + approvers.length > 0

/** What a rule requires and does not find. */
export interface Missing {
  fields: string[]
  evidence: string[]
  approvers: string[]
  /** The evidence that was found. */
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

/** Nothing is required, or all of it is there. */
export const complete: Missing = { fields: [], evidence: [], approvers: [], seqs: [] }

/** An action that names neither project nor scope is outside of every scope. */
export const inScope = (scopes: readonly string[], names: readonly string[]): boolean =>
  scopes.length === 0 || names.some((one) => scopes.includes(one))
