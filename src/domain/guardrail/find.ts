/** The breaker of a scope. */
import { invalidParams } from '../../../sdk/errors.ts'
import type { BreakerRule } from '../../../sdk/schema/guardrail.ts'

/** @throws CstpError `invalid_params` when no breaker has the scope */
export function findBreaker(breakers: readonly BreakerRule[], scope: string): BreakerRule {
  const rule = breakers.find((one) => one.scope === scope)
  if (rule) return rule
  const expected =
    breakers.length === 0
      ? 'the scope of a declared circuit breaker (there is none)'
      : `one of ${breakers.map((one) => one.scope).join(', ')}`
  throw invalidParams({ path: 'scope', message: 'no circuit breaker has this scope', expected, received: scope })
}
