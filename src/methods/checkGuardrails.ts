/** cstp.checkGuardrails: whether the guardrails allow an action. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { text } from '../../sdk/schema/decision.ts'
import { Durability, readParams, trackedParams } from '../../sdk/schema/params.ts'
import { ActionParams, Violation, verdictEntries } from '../../sdk/schema/policy.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import { timestamp } from '../core/time.ts'
import { placed } from '../domain/ledger/thread/sequencer.ts'
import { judge } from '../domain/policy/judge/judge.ts'
import { checkedAction, generalWarnings, shownVerdict, toAction } from '../domain/policy/judge/request.ts'
import { checkInput, noteInput } from '../domain/record/deliberation/inputs.ts'
import { openPast } from '../domain/record/history/past.ts'

const d = v.description

const dryRun = v.pipe(
  v.optional(v.boolean(), false),
  d(
    'Dry run: returns the same verdict. The audit entry is marked as a dry run; the check is not added to a deliberation and uses no approval.',
  ),
)

export const checkGuardrails = defineMethod({
  summary:
    'Checks a proposed action against all guardrails and circuit breakers, and writes the verdict to the audit trail.',
  params: v.object({
    action: v.pipe(ActionParams, d('The action.')),
    agent: v.optional(
      v.object({
        id: v.pipe(v.optional(v.nullable(text(256))), d('Identity besides the credentials; recorded, never trusted.')),
        url: v.pipe(v.optional(v.nullable(text(2_048))), d('Callback URL; recorded, never called.')),
      }),
    ),
    dry_run: dryRun,
    durability: Durability,
    as_of: AsOf,
    ...readParams,
  }),
  result: v.object({
    allowed: v.boolean(),
    ...verdictEntries,
    violations: v.pipe(v.array(Violation), d('Why the action is blocked.')),
    warnings: v.pipe(v.array(Violation), d('What needs attention.')),
    evaluated: v.pipe(v.number(), d('Number of guardrails loaded, including those out of scope.')),
    evaluated_at: v.pipe(v.string(), d('RFC 3339.')),
    agent: v.string(),
    policy_hash: v.pipe(v.string(), d('SHA-256 of the rules that were evaluated.')),
    dry_run: v.optional(v.pipe(v.literal(true), d('True for a dry run.'))),
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  effect: 'write',
  failure: 'guardrail_eval_failed',
  mcp: {
    name: 'check_action',
    title: 'Check guardrails',
    description:
      'Check a planned action against the guardrails and circuit breakers before you act. If `allowed` is false, do not act: `violations` say why and what to do instead. If an `approval` is pending, a person grants it at its url; then repeat the call. The verdict is audited; no decision is recorded. pre_action checks and records in one call.',
    input: toolInput(
      v.object({
        description: ActionParams.entries.description,
        category: ActionParams.entries.category,
        stakes: ActionParams.entries.stakes,
        confidence: ActionParams.entries.confidence,
        context: ActionParams.entries.context,
        tags: ActionParams.entries.tags,
        project: ActionParams.entries.project,
        pr: ActionParams.entries.pr,
        scope: ActionParams.entries.scope,
        ...trackedParams,
      }),
      ({ agent_id, tracker_scope, ...action }) => ({ action, agent_id, tracker_scope }),
    ),
  },
  async handle(call, { action: given, agent, dry_run, durability, as_of, ...rest }) {
    if (as_of !== undefined && !dry_run) {
      throw invalidParam('as_of', 'as_of only together with dry_run: true', as_of)
    }
    const past = as_of === undefined ? null : await openPast(call, as_of)
    const names = { ...rest, agent_id: rest.agent_id ?? agent?.id }
    const action = await checkedAction(call, toAction(call.caller.agent, given, 'check'), names)
    const settled = await judge(call, { action, claims: agent, past }, dry_run ? 'dry_run' : 'enforce')
    if (durability === 'logged') await placed(call.thread)
    if (!dry_run) noteInput(call, names, checkInput(given.description, settled))
    return {
      allowed: settled.allowed,
      ...shownVerdict(settled),
      violations: settled.violations,
      warnings: [...generalWarnings(settled), ...settled.warnings],
      evaluated: settled.evaluated,
      evaluated_at: timestamp(call.now()),
      agent: call.caller.agent,
      policy_hash: settled.policy_hash,
      ...(dry_run && { dry_run }),
      ...(past && { as_of: past.block() }),
    }
  },
})
