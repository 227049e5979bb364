/** cstp.shadowGuardrails: adds draft rules in shadow mode, as a new file in the folder of rules. */
import * as v from 'valibot'
import { text } from '../../sdk/schema/decision.ts'
import { RuleProblem } from '../../sdk/schema/policy.ts'
import { byCurators, defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { fileName } from '../domain/policy/rules/set.ts'
import { shadow } from '../domain/policy/trial/shadow-file.ts'

const d = v.description

export const shadowGuardrails = defineMethod({
  summary: 'Deploys a draft of guardrails in shadow mode, as a new file in the folder of rules; it blocks nothing.',
  params: v.object({
    rules: v.pipe(text(100_000, 1), d('A guardrail file (YAML). Each of its rules gets `mode: shadow`.')),
  }),
  result: v.object({
    success: v.pipe(v.boolean(), d('Whether the rules are in shadow mode now; if not, nothing was written.')),
    file: v.pipe(v.nullable(v.string()), d('Name of the new file.')),
    rules: v.pipe(v.array(v.string()), d('Ids of its rules.')),
    yaml: v.pipe(v.nullable(v.string()), d('The file as written, or, with `read_only`, the file to add.')),
    policy_hash: v.pipe(v.string(), d('SHA-256 of the rules in force after the call.')),
    errors: v.pipe(v.array(RuleProblem), d('Problems in the draft or in the files in force.')),
    read_only: v.pipe(
      v.boolean(),
      d('True if no path in `GUARDRAILS_PATHS` is a folder writable by the service; add the file manually.'),
    ),
  }),
  scope: 'admin',
  also: byCurators,
  effect: 'write',
  cost: 16,
  failure: 'guardrail_eval_failed',
  async handle(call, { rules: yaml }) {
    const inForce = await call.policy.current()
    const { file, rules, yaml: written, errors } = await shadow(call.policy, inForce, yaml)
    const { hash } = await call.policy.current()
    const name = file === null ? null : fileName(file)
    const detail = { policy_hash: hash, file: name, rules, errors: errors.length }
    await call.store.transaction((tx) => audit(call, tx, [], detail))
    return {
      success: file !== null,
      file: name,
      rules,
      yaml: written,
      policy_hash: hash,
      errors: errors.map((error) => ({ ...error, file: fileName(error.file) })),
      read_only: file === null && errors.length === 0,
    }
  },
})
