/** cstp.listBreakers: every circuit breaker and its state. */
import * as v from 'valibot'
import { BreakerState } from '../../sdk/schema/policy.ts'
import { defineMethod } from '../calls/method.ts'
import { showBreakers } from '../domain/policy/judge/breakers.ts'

export const listBreakers = defineMethod({
  summary: 'Lists the circuit breakers with their states.',
  params: v.object({}),
  result: v.object({ breakers: v.array(BreakerState), total: v.number() }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'list_breakers',
    title: 'List circuit breakers',
    description: 'List all circuit breakers with their states; an open one blocks the actions in its scope.',
  },
  async handle({ store, policy, now }) {
    const rules = [...(await policy.current()).breakers].sort((a, b) => (a.scope < b.scope ? -1 : 1))
    const breakers = await showBreakers(store.keyed, rules, now())
    return { breakers, total: breakers.length }
  },
})
