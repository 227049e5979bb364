/** Evaluates rules against an action: allowed or not, and why. A rule that can't be evaluated counts against the action. */
import * as v from 'valibot'
import { StepUp } from '../../../../sdk/schema/guardrail.ts'
import type { ApprovalRef, Change, Violation } from '../../../../sdk/schema/policy.ts'
import { type VerdictValue, verdictValues } from '../../../../sdk/schema/verdict.ts'
import { type Action, EvaluationError, namesOf, SampleError } from './action.ts'
import { type CompiledRule, complete, holds, inScope, type Missing, missingOf, requiresAny } from './compiled.ts'
import type { Answers, History } from './history.ts'
import { givenOf } from './modify.ts'
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
  /** The part of the verdict of each rule that stops the action, so that an approval can lift that part. */
  asks: Ask[]
  /** Rules in shadow mode that would have stopped the action. */
  would_block: string[]
  /** The action after the `modify` rules; null if there is no change. */
  modified_action: Record<string, unknown> | null
  changes: Change[]
  satisfied_by: { rule: string; seqs: number[] }[]
  skipped_for_scope: string[]
}

/** A verdict that includes the breakers, with the data that the audit trail keeps of it. */
export interface Evaluation extends Verdict {
  policy_hash: string
  duration_ms: number
  /** Identifies the evaluation in the audit trail. */
  record_id: string
  approval: ApprovalRef | null
  /** When, milliseconds since 1970. */
  at_ms: number
  /** The answers about the past that it used. */
  answers: Answers
  /** Rules whose step-up was approved. */
  approved_rules: string[]
}

/** A rule's part of a verdict. */
export interface Ask {
  rule: string
  verdict: 'deny' | 'defer' | 'step_up'
  message: string
  /** Null unless the verdict is `step_up`. */
  step_up: StepUp | null
}

/** The strictest of these verdicts; `allow` if there are none. */
export const strictest = (all: readonly VerdictValue[]): VerdictValue =>
  verdictValues.find((one) => all.includes(one)) ?? 'allow'

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

/** Errors of an engine that a condition uses fail closed too. Their text may name files, so the verdict leaves it out. */
const reasonOf = (error: unknown): string =>
  error instanceof EvaluationError ? error.message : 'its data could not be read'

const defaultStepUp = v.parse(StepUp, {})

/** The approvals that a rule asks for: one if its action is `step_up`, and each one that it requires. */
function stepUpsOf({ action, step_up }: LoadedRule, approvers: readonly string[]): StepUp[] {
  const own = step_up ?? defaultStepUp
  return [...(action === 'step_up' ? [own] : []), ...approvers.map((one) => ({ ...own, approvers: [one] }))]
}

type OnFault = (rule: string, error: unknown) => void
type Parts = Omit<Verdict, 'allowed' | 'verdict' | 'evaluated' | 'modified_action'>

/** The distinct items of two lists, by key. */
const union = <T>(a: readonly T[], b: readonly T[], keyOf: (one: T) => unknown = (one) => one): T[] => {
  const known = new Set(a.map(keyOf))
  return [...a, ...b.filter((one) => !known.has(keyOf(one)))]
}
const ruleOf = ({ guardrail_id }: Violation): string => guardrail_id

/** Joins the results for an action before and after rules changed it: the stricter one counts. */
const joined = (a: Parts, b: Parts): Parts => ({
  violations: union(a.violations, b.violations, ruleOf),
  warnings: union(a.warnings, b.warnings, ruleOf),
  fired: union(a.fired, b.fired),
  tags: union(a.tags, b.tags),
  asks: union(a.asks, b.asks, ({ rule, verdict }) => `${verdict} ${rule}`),
  would_block: union(a.would_block, b.would_block),
  changes: [...a.changes, ...b.changes],
  satisfied_by: union(a.satisfied_by, b.satisfied_by, (one) => JSON.stringify(one)),
  skipped_for_scope: a.skipped_for_scope.filter((rule) => b.skipped_for_scope.includes(rule)),
})

const isSame = (a: Action, b: Action): boolean => a === b || JSON.stringify(givenOf(a)) === JSON.stringify(givenOf(b))

/** A denial by rules that keep changing the action. */
function refused(rules: readonly CompiledRule[], changes: readonly Change[]): Parts {
  const changing = rules.filter(({ rule }) => changes.some((one) => one.rule === rule.id))
  const violations = changing.map(({ rule }): Violation => {
    const { verdict: _, ...found } = violation(rule, complete, 'rules change the action again and again', 'deny')
    return { ...found, severity: 'block' }
  })
  const asks = violations.map(
    ({ guardrail_id: rule, message }): Ask => ({ rule, verdict: 'deny', message, step_up: null }),
  )
  const none = { warnings: [], fired: [], tags: [], would_block: [], changes: [], satisfied_by: [] }
  return { ...none, violations, asks, skipped_for_scope: rules.map(({ rule }) => rule.id) }
}

/**
 * Evaluates every rule. An action that rules changed is evaluated again, so that no change bypasses another rule.
 * @param onFault gets errors that the action did not cause, for the log
 */
export async function evaluate(
  rules: readonly CompiledRule[],
  action: Action,
  history: History,
  onFault: OnFault,
): Promise<Verdict> {
  let { parts, modified } = await evaluateOnce(rules, action, history, onFault)
  // Each round settles the changes of one more rule, unless the changes form a cycle.
  let rounds = rules.filter(({ change }) => change !== null).length
  let before = action
  for (let past = history; !isSame(before, modified); rounds--) {
    if (rounds === 0) {
      parts = joined(parts, refused(rules, parts.changes))
      break
    }
    before = modified
    past = past.ofChanged()
    const next = await evaluateOnce(rules, before, past, onFault)
    modified = next.modified
    // If several rules set one field, the last one wins in every round: this is not a change.
    parts = joined(parts, isSame(before, modified) ? { ...next.parts, changes: [] } : next.parts)
  }
  return withVerdict({
    ...parts,
    evaluated: rules.length,
    modified_action: parts.changes.length > 0 ? givenOf(modified) : null,
  })
}

/** Evaluates every rule once, against the given action. */
async function evaluateOnce(
  rules: readonly CompiledRule[],
  action: Action,
  history: History,
  onFault: OnFault,
): Promise<{ parts: Parts; modified: Action }> {
  const violations: Violation[] = []
  const warnings: Violation[] = []
  const fired: string[] = []
  const tags: string[] = []
  const asks: Ask[] = []
  const would_block: string[] = []
  const changes: Change[] = []
  const satisfied_by: Verdict['satisfied_by'] = []
  const skipped_for_scope: string[] = []
  const names = namesOf(action)
  let modified = action
  /** Applies a rule whose conditions hold, or could not be evaluated. */
  const apply = async (compiled: CompiledRule, failure: { thrown: unknown } | null): Promise<void> => {
    const { rule, change } = compiled
    let error: string | null = null
    let isSmall = false
    let missing = complete
    const fault = (thrown: unknown) => {
      isSmall ||= thrown instanceof SampleError
      if (!(thrown instanceof EvaluationError)) onFault(rule.id, thrown)
      error = reasonOf(thrown)
    }
    if (failure !== null) fault(failure.thrown)
    try {
      if (requiresAny(compiled)) missing = await missingOf(compiled, action, history)
    } catch (thrown) {
      fault(thrown)
    }
    if (missing.seqs.length > 0) satisfied_by.push({ rule: rule.id, seqs: missing.seqs })
    const lacks = missing.fields.length + missing.evidence.length + missing.approvers.length > 0
    if (error === null && requiresAny(compiled) && !lacks) return
    fired.push(rule.id)
    let asked = askedFor(rule, missing, error !== null, isSmall)
    if (rule.mode === 'shadow') {
      if (asked !== 'allow' && asked !== 'modify') would_block.push(rule.id)
      return
    }
    if (rule.tag !== undefined) tags.push(...[rule.tag].flat())
    if (asked === 'modify') {
      try {
        const made = change!(modified, modified !== action)
        if (made?.changed.length === 0) return
        if (made === null) asked = 'deny'
        else {
          modified = made.after
          changes.push(...made.changed)
        }
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
  for (const compiled of rules) {
    if (!inScope(compiled.scopes, names)) {
      if (names.length === 0 && (await holds(compiled, action, history))) skipped_for_scope.push(compiled.rule.id)
      continue
    }
    let failure: { thrown: unknown } | null = null
    try {
      const answer = compiled.test(action, history)
      // Most rules answer no, and synchronously.
      if (!(typeof answer === 'boolean' ? answer : await answer)) continue
    } catch (thrown) {
      failure = { thrown }
    }
    await apply(compiled, failure)
  }
  const parts = { violations, warnings, fired, tags, asks, would_block, changes, satisfied_by, skipped_for_scope }
  return { parts, modified }
}

/** A verdict from its parts. */
export function withVerdict<T extends Omit<Verdict, 'allowed' | 'verdict'>>(
  parts: T,
): T & Pick<Verdict, 'allowed' | 'verdict'> {
  const verdict = strictest([...parts.asks.map((one) => one.verdict), parts.changes.length > 0 ? 'modify' : 'allow'])
  return { ...parts, allowed: parts.asks.length === 0, verdict }
}

/**
 * The verdict for a caller in shadow mode: nothing is stopped, changed or asked for, and rules that would have stopped it are kept.
 * @param isEnforced the rules that count all the same; by default none
 */
export function shadowed<V extends Verdict>(verdict: V, isEnforced: (rule: string) => boolean = () => false): V {
  const counts = ({ guardrail_id }: Violation) => isEnforced(guardrail_id)
  const asks = verdict.asks.filter(({ rule }) => isEnforced(rule))
  const changes = verdict.changes.filter(({ rule }) => isEnforced(rule))
  const shadows = verdict.asks.flatMap(({ rule }) => (isEnforced(rule) ? [] : [rule]))
  return withVerdict({
    ...verdict,
    violations: verdict.violations.filter(counts),
    warnings: verdict.warnings.filter(counts),
    asks,
    changes,
    // Changes build on each other, so the action as changed by some of them is not known.
    modified_action: changes.length === verdict.changes.length ? verdict.modified_action : null,
    would_block: [...new Set([...verdict.would_block, ...shadows])],
  })
}
