/** cstp.getPolicy: an archived rule set, and when it was in force. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { Hash } from '../../sdk/schema/evidence.ts'
import { defineMethod } from '../calls/method.ts'
import { archivedPolicy, enact, policyChanges } from '../domain/policy/judge/archive.ts'
import { describeRule } from '../domain/policy/rules/describe.ts'

const d = v.description
const period = {
  in_force_from: v.pipe(v.string(), d('When it came into force, RFC 3339.')),
  in_force_until: v.pipe(v.nullable(v.string()), d('When other rules replaced it; null while it is in force.')),
}
const AsWritten = v.record(v.string(), v.unknown())

export const getPolicy = defineMethod({
  summary: 'Returns the rule set with the given hash, which is or was in force; audit entries contain the hash.',
  params: v.object({
    policy_hash: v.optional(v.pipe(Hash, d('SHA-256 of the rule set; by default that of the rules in force.'))),
  }),
  result: v.object({
    policy_hash: v.pipe(Hash, d('SHA-256 of the rules and circuit breakers.')),
    ...period,
    periods: v.pipe(
      v.array(v.object(period)),
      d('Periods in which it was in force, oldest first; at most the last 100.'),
    ),
    guardrails: v.pipe(
      v.array(AsWritten),
      d('The rules in the long form of a guardrail file, in the order of the files, each with `file` and `line`.'),
    ),
    circuit_breakers: v.pipe(v.array(AsWritten), d('The circuit breakers.')),
    changes: v.pipe(
      v.array(v.object({ policy_hash: Hash, in_force_from: period.in_force_from })),
      d('When rule sets came into force (this one and all others), newest first; at most 100.'),
    ),
    applies: v.pipe(v.record(v.string(), v.string()), d('The condition of each rule in words, by rule id.')),
  }),
  scope: 'read',
  effect: 'read',
  async handle({ store, policy, now }, { policy_hash }) {
    const set = await policy.current()
    if (policy_hash === undefined) await enact(store, set, now())
    const hash = policy_hash ?? set.hash
    const found = await archivedPolicy(store, hash)
    if (!found) {
      throw invalidParam('policy_hash', 'the hash of a rule set that was in force', hash)
    }
    // Another server on this store may use other rules; the rules of this server count as in force.
    const periods = found.periods.map(({ from, until }, at) => ({
      in_force_from: from,
      in_force_until: hash === set.hash && at === found.periods.length - 1 ? null : until,
    }))
    return {
      policy_hash: hash,
      ...periods.at(-1)!,
      periods,
      guardrails: found.rules.map((rule) => ({ ...rule })),
      circuit_breakers: found.breakers,
      changes: await policyChanges(store),
      applies: Object.fromEntries(found.rules.map((rule) => [rule.id, describeRule(rule)])),
    }
  },
})
