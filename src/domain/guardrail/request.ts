/** The action that rules see, made of a caller's description. */
import { invalidParams } from '../../../sdk/errors.ts'
import type { ActionParams, Violation } from '../../../sdk/schema/policy.ts'
import { instructionLike, textsIn } from '../decision/instructions.ts'
import type { Action, Phase } from './action.ts'
import { contextProblem } from './history.ts'

/** The action that rules see. @throws CstpError `invalid_params` if its context is too large or too deep */
export function toAction(agent_id: string, given: ActionParams, phase: Phase): Action {
  const problem = contextProblem(given.context)
  if (problem) throw invalidParams({ path: 'action.context', ...problem })
  return {
    ...given,
    agent_id,
    phase,
    reason_count: null,
    quality_score: null,
    instruction_like: instructionLike([given.description, ...textsIn(given.context)]),
    has_deliberation: false,
    has_reasoning: false,
    has_query: phase === 'pre_action',
    has_check: phase === 'pre_action',
  }
}

/** The warning of a server without rules: `evaluated: 0` must not be read as safety. */
export const noRules: Violation = {
  guardrail_id: 'no_rules',
  name: 'No guardrails are loaded',
  message: 'No guardrail is loaded: nothing was checked',
  severity: 'warn',
  suggestion: 'Name a directory with rules in GUARDRAILS_PATHS',
  error: null,
}
