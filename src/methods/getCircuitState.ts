/** cstp.getCircuitState: one circuit breaker. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { BreakerState } from '../../sdk/schema/policy.ts'
import { defineMethod } from '../calls/method.ts'
import { findBreaker } from '../domain/policy/judge/breaker.ts'
import { showBreakers } from '../domain/policy/judge/breakers.ts'

export const getCircuitState = defineMethod({
  summary: 'Returns the state of one circuit breaker.',
  params: v.object({
    scope: v.pipe(nonEmptyText(300), v.description('Scope of the breaker, such as category:deployment.')),
  }),
  result: BreakerState,
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_circuit_state',
    title: 'Get circuit breaker',
    description:
      'Get the state of a circuit breaker, such as `category:deployment`, and when it allows an action again.',
  },
  async handle({ store, policy, now }, { scope }) {
    const rule = findBreaker((await policy.current()).breakers, scope)
    const [shown] = await showBreakers(store.keyed, [rule], now())
    return shown!
  },
})
