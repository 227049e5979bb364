/** Evaluates rules against an action: allowed or not, and why. A rule that can't be evaluated counts against the action. */
import * as v from 'valibot'
import { type EvidenceRequirement, type Rule, StepUp } from '../../../sdk/schema/guardrail.ts'
import type { ApprovalRef, Change, Violation } from '../../../sdk/schema/policy.ts'
import { type VerdictValue, verdictValues } from '../../../sdk/schema/verdict.ts'
import { type Action, compileField, type Field, fold, skeleton } from './action.ts'
import { compileAll, type Test } from './conditions.ts'
import type { Answers, History } from './history.ts'
import { compileModify, givenOf, type Modification } from './modify.ts'
import { EvaluationError, SampleError } from './operators.ts'
import type { LoadedRule } from './parse.ts'

export interface Verdict {
  /** True for the verdicts `allow` and `modify`. */
  allowed: boolean
  verdict: VerdictValue
  violations: Violation[]
  warnings: Violation[]
  /** Ids of the rules that fired, including those that only log and those in shadow mode. */
  fired: string[]
  /** Tags of those rules. */
  tags: string[]
  /** Number of rules loaded. */
  evaluated: number
  /** What each rule that stops the action asks for, so that an approval can lift its part of the verdict. */
  asks: Ask[]
  /** Rules in shadow mode that would have stopped the action. */
  would_block: string[]
  /** The action after the `modify` rules; null if there is no change. */
  modified_action: Record<string, unknown> | null
  changes: Change[]
  satisfied_by: { rule: string; seqs: number[] }[]
  skipped_for_scope: string[]
}

/** A verdict with the breakers considered, and what the audit trail keeps of it. */
export interface Evaluation extends Verdict {
  policy_hash: string
  duration_ms: number
  /** Names the evaluation in the trail. */
  record_id: string
  approval: ApprovalRef | null
  /** When, milliseconds since 1970. */
  at_ms: number
  /** Its answers about the past. */
  answers: Answers
  /** Rules whose step-up was approved. */
  approved_rules: string[]
}

/** A rule's part of a verdict. */
export interface Ask {
  rule: string
  verdict: 'deny' | 'defer' | 'step_up'
  message: string
  /** Of a step-up. */
  step_up: StepUp | null
}

/** The strictest of verdicts; `allow` of none. */
export const strictest = (all: readonly VerdictValue[]): VerdictValue =>
  verdictValues.find((one) => all.includes(one)) ?? 'allow'

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

const requiresAny = ({ required, evidence, approvers }: CompiledRule): boolean =>
  required.length + evidence.length + approvers.length > 0

/** What a rule requires and does not find. */
interface Missing {
  fields: string[]
  evidence: string[]
  approvers: string[]
  /** The evidence that was found. */
  seqs: number[]
}

async function missingOf(compiled: CompiledRule, action: Action, history: History): Promise<Missing> {
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

/** The verdict that a violated rule asks for. */
function askedFor(
  { action }: LoadedRule,
  { fields, evidence, approvers }: Missing,
  failed: boolean,
  isSmall: boolean,
): VerdictValue {
  if (action === 'warn' || action === 'log') return 'allow'
  if (isSmall) return 'defer'
  if (action === 'defer' || action === 'step_up') return action
  if (failed) return 'deny'
  if (action === 'modify') return 'modify'
  return approvers.length > 0 && fields.length + evidence.length === 0 ? 'step_up' : 'deny'
}

function violation(rule: LoadedRule, missing: Missing, error: string | null, asked: VerdictValue): Violation {
  const { id, name, description, defer, suggestion, action } = rule
  const { fields, evidence, approvers } = missing
  const fallback =
    fields.length > 0
      ? `Required and not true: ${fields.join(', ')}`
      : (defer?.reason ?? description ?? `Guardrail ${id} applies`)
  const details = [
    ...(error === null ? [] : [`the rule could not be evaluated: ${error}`]),
    ...(evidence.length > 0 ? [`missing evidence: ${evidence.join('; ')}`] : []),
    ...(asked === 'step_up' && approvers.length > 0 ? [`needs the approval of ${approvers.join(', ')}`] : []),
  ]
  const text = rule.message ?? fallback
  return {
    guardrail_id: id,
    name: name ?? description ?? id,
    message: details.length > 0 ? `${text} (${details.join('; ')})` : text,
    severity: action === 'warn' || action === 'log' || asked === 'modify' ? 'warn' : 'block',
    suggestion: suggestion ?? null,
    error,
    ...(asked !== 'deny' && asked !== 'allow' && { verdict: asked }),
  }
}

/** Errors of an engine behind a condition fail closed too; their text may name files, so the verdict leaves it out. */
const reasonOf = (error: unknown): string =>
  error instanceof EvaluationError ? error.message : 'its data could not be read'

const complete: Missing = { fields: [], evidence: [], approvers: [], seqs: [] }
const defaultStepUp = v.parse(StepUp, {})

/** What a rule asks people for: the approval of its own action, and each that it requires. */
function stepUpsOf({ action, step_up }: LoadedRule, approvers: readonly string[]): StepUp[] {
  const own = step_up ?? defaultStepUp
  return [...(action === 'step_up' ? [own] : []), ...approvers.map((one) => ({ ...own, approvers: [one] }))]
}

/** An action that names neither project nor scope is outside of every scope. */
const inScope = (scopes: readonly string[], names: readonly string[]): boolean =>
  scopes.length === 0 || names.some((one) => scopes.includes(one))

/**
 * Evaluates every rule.
 * @param onFault reports errors that are not the action's own, for the log
 */
export async function evaluate(
  rules: readonly CompiledRule[],
  action: Action,
  history: History,
  onFault: (rule: string, error: unknown) => void,
): Promise<Verdict> {
  const violations: Violation[] = []
  const warnings: Violation[] = []
  const fired: string[] = []
  const tags: string[] = []
  const asks: Ask[] = []
  const would_block: string[] = []
  const changes: Change[] = []
  const satisfied_by: Verdict['satisfied_by'] = []
  const skipped_for_scope: string[] = []
  const names = [action.project ?? action.context.project, action.scope].flatMap((one) =>
    typeof one === 'string' ? [fold(action, one)] : [],
  )
  let modified = action
  for (const compiled of rules) {
    const { rule, test, change, scopes } = compiled
    if (!inScope(scopes, names)) {
      skipped_for_scope.push(rule.id)
      continue
    }
    let error: string | null = null
    let isSmall = false
    let missing = complete
    const fault = (thrown: unknown) => {
      isSmall ||= thrown instanceof SampleError
      if (!(thrown instanceof EvaluationError)) onFault(rule.id, thrown)
      error = reasonOf(thrown)
    }
    try {
      const answer = test(action, history)
      if (!(typeof answer === 'boolean' ? answer : await answer)) continue
    } catch (thrown) {
      fault(thrown)
    }
    try {
      if (requiresAny(compiled)) missing = await missingOf(compiled, action, history)
    } catch (thrown) {
      fault(thrown)
    }
    if (missing.seqs.length > 0) satisfied_by.push({ rule: rule.id, seqs: missing.seqs })
    const lacks = missing.fields.length + missing.evidence.length + missing.approvers.length > 0
    if (error === null && requiresAny(compiled) && !lacks) continue
    fired.push(rule.id)
    if (rule.tag !== undefined) tags.push(...[rule.tag].flat())
    let asked = askedFor(rule, missing, error !== null, isSmall)
    if (rule.mode === 'shadow') {
      if (asked !== 'allow' && asked !== 'modify') would_block.push(rule.id)
      continue
    }
    if (asked === 'modify') {
      try {
        const { after, changed } = change!(modified)
        modified = after
        changes.push(...changed)
        if (changed.length === 0) continue
      } catch (thrown) {
        fault(thrown)
        asked = 'deny'
      }
    }
    const found = violation(rule, missing, error, asked)
    if (found.severity === 'block') violations.push(found)
    else if (rule.action !== 'log') warnings.push(found)
    if (asked === 'deny' || asked === 'defer' || asked === 'step_up') {
      const step_ups = asked === 'step_up' ? stepUpsOf(rule, missing.approvers) : [null]
      for (const step_up of step_ups) asks.push({ rule: rule.id, verdict: asked, message: found.message, step_up })
    }
  }
  return judged({
    violations,
    warnings,
    fired,
    tags,
    evaluated: rules.length,
    asks,
    would_block,
    modified_action: changes.length > 0 ? givenOf(modified) : null,
    changes,
    satisfied_by,
    skipped_for_scope,
  })
}

/** A verdict from its parts. */
export function judged<T extends Omit<Verdict, 'allowed' | 'verdict'>>(
  parts: T,
): T & Pick<Verdict, 'allowed' | 'verdict'> {
  const verdict = strictest([...parts.asks.map((one) => one.verdict), parts.changes.length > 0 ? 'modify' : 'allow'])
  return { ...parts, allowed: parts.asks.length === 0, verdict }
}
