/** cstp.listGuardrails: the rules in force. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { ruleActions } from '../../sdk/schema/guardrail.ts'
import { boundMs, DateBound } from '../../sdk/schema/params.ts'
import { RuleProblem } from '../../sdk/schema/policy.ts'
import { defineMethod } from '../calls/method.ts'
import { seesAll } from '../core/caller.ts'
import { timestamp } from '../core/time.ts'
import { aboutRule } from '../domain/learn/memory/bearing.ts'
import { firedSince } from '../domain/policy/judge/fired.ts'
import { rulesOf } from '../domain/policy/judge/past.ts'
import { scopesOf } from '../domain/policy/rules/compiled.ts'
import { fileName } from '../domain/policy/rules/set.ts'
import { openPast } from '../domain/record/history/past.ts'

const d = v.description

export const listGuardrails = defineMethod({
  summary: 'Lists the guardrails in force, and problems in their files.',
  params: v.object({
    scope: v.optional(v.pipe(nonEmptyText(256), d('Only rules of this scope or project, and rules without one.'))),
    fired_since: v.optional(v.pipe(DateBound, d('Counts on or after this day or time how often each rule fired.'))),
    as_of: AsOf,
  }),
  result: v.object({
    guardrails: v.pipe(
      v.array(
        v.object({
          id: v.pipe(v.string(), d('Id of the rule.')),
          name: v.pipe(v.nullable(v.string()), d('Short name.')),
          description: v.pipe(
            v.string(),
            d('Its purpose; if it states none, its message, else its conditions in words.'),
          ),
          action: v.pipe(v.picklist(ruleActions), d('Effect of a violation.')),
          mode: v.pipe(
            v.picklist(['enforce', 'shadow']),
            d('`shadow`: it stops nothing, what it would have stopped is noted.'),
          ),
          fired: v.optional(
            v.pipe(
              v.number(),
              d('Checks since `fired_from` in which it fired; with `fired_since`, for admin, audit and approve.'),
            ),
          ),
          scope: v.pipe(v.nullable(v.string()), d('Scopes joined by commas; null for every scope.')),
          scopes: v.pipe(v.array(v.string()), d('The same as a list; empty for every scope.')),
          conditions: v.pipe(v.number(), d('Number of conditions.')),
          requirements: v.pipe(v.number(), d('Number of requirements.')),
          file: v.pipe(v.string(), d('Name of the file.')),
        }),
      ),
      d('The rules, in the order of the files.'),
    ),
    total: v.number(),
    fired_from: v.optional(
      v.pipe(
        v.string(),
        d('When the counted checks begin, RFC 3339: `fired_since`, or later if there are more checks than are read.'),
      ),
    ),
    policy_hash: v.string(),
    errors: v.pipe(
      v.array(RuleProblem),
      d('Problems found when the files were last read; the last valid rules stay in force.'),
    ),
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'list_guardrails',
    title: 'List guardrails',
    description:
      'List the guardrails in force. To find out whether an action is allowed, use check_action, which evaluates them.',
  },
  failure: 'guardrail_eval_failed',
  async handle(call, { scope, fired_since, as_of }) {
    const past = as_of === undefined ? null : await openPast(call, as_of)
    const { rules, hash } = past ? await rulesOf(call, past) : await call.policy.current()
    const errors = call.policy.errors()
    if (past && errors.length > 0)
      past.limit('file_errors', 'Problems in the rule files are known only from their last reading')
    // Who approves reads what stopped every agent, and so how often each rule did.
    const counts = seesAll(call.caller) || call.caller.scopes.has('approve')
    const since_ms = fired_since === undefined || !counts ? null : boundMs(fired_since, false)
    const fired = since_ms === null ? null : await firedSince(call.store.audit, since_ms)
    const guardrails = rules
      .filter(({ rule }) => scope === undefined || scopesOf(rule).length === 0 || scopesOf(rule).includes(scope))
      .map(({ rule }) => ({
        id: rule.id,
        name: rule.name ?? null,
        description: aboutRule(rule),
        action: rule.action,
        mode: rule.mode === 'shadow' ? ('shadow' as const) : ('enforce' as const),
        ...(fired && { fired: fired.counts.get(rule.id) ?? 0 }),
        scope: scopesOf(rule).join(',') || null,
        scopes: scopesOf(rule),
        conditions: rule.conditions.length,
        requirements: rule.requirements.length,
        file: fileName(rule.file),
      }))
    return {
      guardrails,
      total: guardrails.length,
      ...(fired && { fired_from: timestamp(fired.from_ms) }),
      policy_hash: hash,
      errors: errors.map((error) => ({ ...error, file: fileName(error.file) })),
      ...(past && { as_of: past.block() }),
    }
  },
})
