/** An action as callers describe it: its schema, and the action that rules see. */
import * as v from 'valibot'
import { invalidParams } from '../../../sdk/errors.ts'
import { filledText, fraction, Stakes } from '../../../sdk/schema/decision.ts'
import type { Action, Phase } from './action.ts'
import type { Violation } from './evaluate.ts'
import { contextProblem } from './history.ts'

const d = v.description

/** A record schema would accept a list, and drop keys such as `constructor`: rules and audit trail see what was sent. */
const Context = v.pipe(
  v.unknown() as v.GenericSchema<Record<string, unknown>>,
  v.check((value) => value !== null && typeof value === 'object' && !Array.isArray(value), 'an object'),
  // For JSON Schema, which can't see what the check says.
  v.metadata({ type: 'object', additionalProperties: {} }),
)

/** The action of checkGuardrails and preAction. */
export const ActionParams = v.object({
  description: v.pipe(filledText(10_000), d('What the agent intends to do.')),
  category: v.pipe(v.nullish(filledText(64), null), d('Decision category.')),
  stakes: v.pipe(v.optional(Stakes, 'medium'), d('What is at risk.')),
  confidence: v.pipe(v.nullish(fraction, null), d('How sure the agent is, 0 to 1.')),
  tags: v.optional(v.pipe(v.array(filledText(64)), v.maxLength(50, 'at most 50 entries')), () => []),
  project: v.pipe(v.nullish(filledText(256), null), d('Project that the action belongs to.')),
  scope: v.pipe(v.nullish(filledText(256), null), d('Scope of rules that apply beside those of the project.')),
  context: v.pipe(
    v.optional(Context, () => ({})),
    d('Any fields for conditions to look at; at most 64 KiB and 8 deep.'),
  ),
})
export type ActionParams = v.InferOutput<typeof ActionParams>

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
