/** cstp.reloadGuardrails: reloads the guardrail files. */
import * as v from 'valibot'
import { RuleProblem } from '../../sdk/schema/policy.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { fileName } from '../domain/policy/rules/set.ts'

export const reloadGuardrails = defineMethod({
  summary: 'Reloads the guardrail files now instead of within seconds.',
  params: v.object({}),
  result: v.object({
    success: v.pipe(
      v.boolean(),
      v.description('False if the files are invalid; the last valid rules then stay in force.'),
    ),
    total: v.number(),
    policy_hash: v.string(),
    errors: v.pipe(v.array(RuleProblem), v.description('Problems in the files.')),
  }),
  scope: 'admin',
  effect: 'write',
  async handle(call) {
    const errors = await call.policy.reload()
    const { rules, hash } = await call.policy.current()
    await call.store.transaction((tx) => audit(call, tx, [], { policy_hash: hash, errors: errors.length }))
    return {
      success: errors.length === 0,
      total: rules.length,
      policy_hash: hash,
      errors: errors.map((error) => ({ ...error, file: fileName(error.file) })),
    }
  },
})
