/** What the policy methods return. */
import * as v from 'valibot'
import { fraction } from './decision.ts'

const d = v.description

/** A violation, or a warning; entries of circuit breakers carry the last three fields. */
export const Violation = v.object({
  guardrail_id: v.pipe(v.string(), d('Id of the rule, or `circuit_breaker:<scope>`.')),
  name: v.string(),
  message: v.pipe(v.string(), d('What is wrong.')),
  severity: v.picklist(['block', 'warn']),
  suggestion: v.pipe(v.nullable(v.string()), d('What to do about it.')),
  error: v.pipe(v.nullable(v.string()), d('Why the rule could not be evaluated; it counts as violated then.')),
  state: v.optional(v.picklist(['closed', 'open', 'half_open'])),
  failure_rate: v.optional(v.nullable(fraction)),
  reset_at: v.optional(v.nullable(v.string())),
})

export const BreakerState = v.object({
  scope: v.string(),
  state: v.picklist(['closed', 'open', 'half_open']),
  failure_count: v.pipe(v.number(), d('Failures within the window.')),
  failure_threshold: v.number(),
  window_ms: v.number(),
  cooldown_ms: v.number(),
  cooldown_remaining_ms: v.pipe(v.number(), d('Until an open breaker lets a probe through, or a probe is given up.')),
  opened_at: v.pipe(v.nullable(v.string()), d('RFC 3339.')),
  probe_decision_id: v.pipe(v.nullable(v.string()), d('The decision whose review settles a half-open breaker.')),
})

export const RuleProblem = v.object({ file: v.string(), line: v.number(), column: v.number(), message: v.string() })
