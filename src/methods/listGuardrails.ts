/** cstp.listGuardrails: the rules in force. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { ruleActions } from '../../sdk/schema/guardrail.ts'
import { RuleProblem } from '../../sdk/schema/policy.ts'
import { defineMethod } from '../calls/method.ts'
import { rulesOf } from '../domain/policy/judge/past.ts'
import { scopesOf } from '../domain/policy/rules/compiled.ts'
import { fileName } from '../domain/policy/rules/set.ts'
import { openPast } from '../domain/record/history/past.ts'

const d = v.description

export const listGuardrails = defineMethod({
  summary: 'Lists the guardrails in force, and problems in their files.',
  params: v.object({
    scope: v.optional(v.pipe(nonEmptyText(256), d('Only rules of this scope or project, and rules without one.'))),
    as_of: AsOf,
  }),
  result: v.object({
    guardrails: v.pipe(
      v.array(
        v.object({
          id: v.pipe(v.string(), d('Id of the rule.')),
          name: v.pipe(v.nullable(v.string()), d('Short name.')),
          description: v.pipe(v.nullable(v.string()), d('Its purpose.')),
          action: v.pipe(v.picklist(ruleActions), d('Effect of a violation.')),
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
  async handle(call, { scope, as_of }) {
    const past = as_of === undefined ? null : await openPast(call, as_of)
    const { rules, hash } = past ? await rulesOf(call, past) : await call.policy.current()
    const errors = call.policy.errors()
    if (past && errors.length > 0)
      past.limit('file_errors', 'Problems in the rule files are known only from their last reading')
    const guardrails = rules
      .filter(({ rule }) => scope === undefined || scopesOf(rule).length === 0 || scopesOf(rule).includes(scope))
      .map(({ rule }) => ({
        id: rule.id,
        name: rule.name ?? null,
        description: rule.description ?? null,
        action: rule.action,
        scope: scopesOf(rule).join(',') || null,
        scopes: scopesOf(rule),
        conditions: rule.conditions.length,
        requirements: rule.requirements.length,
        file: fileName(rule.file),
      }))
    return {
      guardrails,
      total: guardrails.length,
      policy_hash: hash,
      errors: errors.map((error) => ({ ...error, file: fileName(error.file) })),
      ...(past && { as_of: past.block() }),
    }
  },
})
