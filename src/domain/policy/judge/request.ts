/** Builds the action that rules see from a caller's parameters. */
import { invalidParams } from '../../../../sdk/errors.ts'
import type { ActionParams, Violation } from '../../../../sdk/schema/policy.ts'
import { hasSecret } from '../../../core/secrets.ts'
import { instructionLike, textsIn } from '../../record/decision/bridge.ts'
import { deliberated, sessionOf } from '../../record/deliberation/inputs.ts'
import type { Tracker } from '../../record/deliberation/tracker.ts'
import { type Action, contextProblem, type Phase, projectOf } from '../rules/action.ts'
import type { Evaluation } from '../rules/evaluate.ts'

/** The action that rules see. @throws CstpError `invalid_params` if its context is too large or too deep */
export function toAction(agent_id: string, given: ActionParams, phase: Phase): Action {
  const problem = contextProblem(given.context)
  if (problem) throw invalidParams({ path: 'action.context', ...problem })
  return asAction(agent_id, given, phase)
}

/** The same for a context that the service made, whose size it knows. */
export function asAction(agent_id: string, given: ActionParams, phase: Phase): Action {
  const texts = [given.description, ...textsIn(given.context)]
  return {
    ...given,
    project: projectOf(given),
    stakes: given.stakes ?? null,
    agent_id,
    phase,
    reason_count: null,
    quality_score: null,
    instruction_like: instructionLike(texts),
    secret_masked: hasSecret(texts),
    has_deliberation: false,
    has_reasoning: false,
    has_query: phase === 'pre_action',
    has_check: phase === 'pre_action',
  }
}

/** The action of a check with what its agent noted in its deliberation before. */
export async function checkedAction(
  call: { caller: { agent: string }; tracker: Pick<Tracker, 'types'> },
  action: Action,
  session: Parameters<typeof sessionOf>[1],
): Promise<Action> {
  return { ...action, ...(await deliberated(call.tracker, sessionOf(call, session))), has_check: true }
}

/** A warning from the service itself, not from a rule. */
export const warning = (guardrail_id: string, name: string, message: string, suggestion: string): Violation => ({
  guardrail_id,
  name,
  message,
  severity: 'warn',
  suggestion,
  error: null,
})

const noRules = warning(
  'no_rules',
  'No guardrails are loaded',
  'No guardrail is loaded: nothing was checked',
  'Name a directory with rules in GUARDRAILS_PATHS',
)

const skippedRules = (ids: readonly string[]): Violation =>
  warning(
    'skipped_for_scope',
    'Rules of other scopes were not applied',
    `The action names no project and no scope; in theirs these rules would apply: ${ids.join(', ')}`,
    'Name the project or the scope of the action',
  )

/** Warnings about missing checks: neither `evaluated: 0` nor a skipped rule must be mistaken for safety. */
export const generalWarnings = ({
  evaluated,
  skipped_for_scope: skipped,
}: Pick<Evaluation, 'evaluated' | 'skipped_for_scope'>): Violation[] => [
  ...(evaluated === 0 ? [noRules] : []),
  ...(skipped.length > 0 ? [skippedRules(skipped)] : []),
]

/** The part of an evaluation that checkGuardrails and preAction return unchanged. */
export const shownVerdict = ({
  verdict,
  record_id,
  approval,
  modified_action,
  changes,
  satisfied_by,
  skipped_for_scope,
  would_block,
}: Omit<Evaluation, 'record_id'> & { record_id: string | null }) => ({
  verdict,
  record_id,
  approval,
  modified_action,
  changes,
  satisfied_by,
  skipped_for_scope,
  ...(would_block.length > 0 && { would_block }),
})
