/** cstp.resetCircuit: an operator closes a breaker, or allows one trial. */
import * as v from 'valibot'
import { nonEmptyText, text } from '../../sdk/schema/decision.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { current, findBreaker, reset } from '../domain/policy/judge/breaker.ts'
import { breakerToReset, changeBreaker } from '../domain/policy/judge/breakers.ts'

const State = v.picklist(['closed', 'open', 'half_open'])

export const resetCircuit = defineMethod({
  summary: 'Closes an open or half-open circuit breaker, or makes it half-open with probe_first.',
  params: v.object({
    scope: v.pipe(nonEmptyText(300), v.description('Scope of the breaker.')),
    probe_first: v.pipe(
      v.optional(v.boolean(), false),
      v.description('Allow one trial first; its review closes or reopens the breaker.'),
    ),
    reason: v.optional(v.nullable(v.pipe(text(2_000), v.description('Reason; stored in the audit trail.'))), null),
  }),
  result: v.object({
    success: v.boolean(),
    scope: v.pipe(v.string(), v.description('Scope of the breaker.')),
    previous_state: v.pipe(State, v.description('Previous state.')),
    new_state: v.pipe(State, v.description('Current state.')),
    message: v.string(),
  }),
  scope: 'admin',
  effect: 'write',
  keeps_texts: true,
  async handle(call, { scope, probe_first, reason }) {
    const rule = findBreaker((await call.policy.current()).breakers, scope)
    return call.store.transaction(async (tx) => {
      const { breaker, version } = await breakerToReset(tx.keyed, rule)
      const before = current(rule, breaker, call.now())
      const after = reset(before, probe_first)
      if (after) await changeBreaker(call, tx, rule, before, after, version)
      await audit(call, tx, [], {
        scope,
        previous_state: before.state,
        new_state: after?.state ?? before.state,
        ...(reason !== null && { reason }),
      })
      return {
        success: after !== null,
        scope,
        previous_state: before.state,
        new_state: after?.state ?? before.state,
        message: after
          ? `The circuit breaker ${scope} is ${after.state}`
          : `The circuit breaker ${scope} is closed already`,
      }
    })
  },
})
