/** cstp.checkGuardrails: may this action go on? */
import * as v from 'valibot'
import { invalidParams } from '../../sdk/errors.ts'
import { filledText, fraction, Stakes, text } from '../../sdk/schema/decision.ts'
import { trackedParams } from '../../sdk/schema/params.ts'
import { Violation } from '../../sdk/schema/policy.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { type Call, timestamp } from '../calls/services.ts'
import { hasQuery, hasThought } from '../domain/deliberation/deliberation.ts'
import { checkInput, sessionOf, track } from '../domain/deliberation/tracker.ts'
import type { Action, Phase } from '../domain/guardrail/action.ts'
import { openGuard } from '../domain/guardrail/guard.ts'
import { contextProblem } from '../domain/guardrail/history.ts'

const d = v.description

/** A record schema would take a list, and drop keys such as `constructor`: rules and trail see what was sent. */
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

/** The action that rules see. @throws CstpError `invalid_params` when its context is too large or too deep */
export function toAction(call: Call, given: ActionParams, phase: Phase): Action {
  const problem = contextProblem(given.context)
  if (problem) throw invalidParams({ path: 'action.context', ...problem })
  return {
    ...given,
    agent_id: call.caller.agent,
    phase,
    reason_count: null,
    quality_score: null,
    has_deliberation: false,
    has_reasoning: false,
    has_query: phase === 'pre_action',
    has_check: phase === 'pre_action',
  }
}

const dryRun = v.pipe(
  v.optional(v.boolean(), false),
  d('Only ask: the same verdict, but nothing of it enters the audit trail or the deliberation.'),
)

/** A warning for a server without rules: `evaluated: 0` must not read as safety. */
export const noRules = {
  guardrail_id: 'no_rules',
  name: 'No guardrails are loaded',
  message: 'No guardrail is loaded: nothing was checked',
  severity: 'warn' as const,
  suggestion: 'Name a directory with rules in GUARDRAILS_PATHS',
  error: null,
}

export const checkGuardrails = defineMethod({
  summary:
    'Checks a proposed action against all guardrails and circuit breakers, and writes the verdict to the audit trail.',
  params: v.object({
    action: v.pipe(ActionParams, d('The action.')),
    agent: v.optional(
      v.object({
        id: v.pipe(v.optional(v.nullable(text(256))), d('Identity beside the credentials; recorded, never trusted.')),
        url: v.pipe(v.optional(v.nullable(text(2_048))), d('Callback URL; recorded, never called.')),
      }),
    ),
    dry_run: dryRun,
    ...trackedParams,
  }),
  result: v.object({
    allowed: v.boolean(),
    violations: v.pipe(v.array(Violation), d('Why it is blocked.')),
    warnings: v.pipe(v.array(Violation), d('What should be looked at.')),
    evaluated: v.pipe(v.number(), d('Number of guardrails loaded, out of scope ones too.')),
    evaluated_at: v.pipe(v.string(), d('RFC 3339.')),
    agent: v.string(),
    policy_hash: v.pipe(v.string(), d('SHA-256 of the rules that judged.')),
    dry_run: v.optional(v.pipe(v.literal(true), d('With dry_run: nothing was recorded.'))),
  }),
  scope: 'read',
  effect: 'write',
  failure: 'guardrail_eval_failed',
  mcp: {
    name: 'check_action',
    title: 'Check guardrails',
    description:
      'Check a planned action against the guardrails and circuit breakers before you do it. With `allowed: false` do not act: `violations` say why and what to do instead. The verdict enters the audit trail; no decision is recorded. pre_action checks and records in one call.',
    input: toolInput(
      v.object({
        description: ActionParams.entries.description,
        category: ActionParams.entries.category,
        stakes: ActionParams.entries.stakes,
        confidence: ActionParams.entries.confidence,
        context: ActionParams.entries.context,
        ...trackedParams,
      }),
      ({ agent_id, tracker_scope, ...action }) => ({ action, agent_id, tracker_scope }),
    ),
  },
  async handle(call, { action: given, agent, dry_run, ...rest }) {
    const names = { ...rest, agent_id: rest.agent_id ?? agent?.id }
    const session = await call.tracker.peek(sessionOf(call, names))
    const action = {
      ...toAction(call, given, 'check'),
      has_deliberation: session !== null,
      has_reasoning: hasThought(session),
      has_query: hasQuery(session),
      has_check: true,
    }
    const guard = await openGuard(call, { ...given, agent: call.caller.agent })
    const judgement = await guard.judge(action)
    const { allowed, violations, warnings, evaluated, policy_hash } = judgement
    if (!dry_run) {
      await call.store.transaction((tx) => guard.audit(tx, action, judgement, { ...(agent && { claims: agent }) }))
      track(call, names, checkInput(given.description, judgement))
    }
    return {
      allowed,
      violations,
      warnings: evaluated === 0 ? [noRules, ...warnings] : warnings,
      evaluated,
      evaluated_at: timestamp(call.now()),
      agent: call.caller.agent,
      policy_hash,
      ...(dry_run && { dry_run }),
    }
  },
})
