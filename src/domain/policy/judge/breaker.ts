/**
 * Circuit breakers: closed → (threshold failures in the window) → open → (cooldown) → half-open → one probe, a recorded decision whose
 * review closes or reopens the breaker. Pure functions over the stored state; the time is a parameter.
 */
import { invalidParams } from '../../../../sdk/errors.ts'
import type { Outcome, Review } from '../../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'

/** A review with outcome `failure`. */
export interface Failure {
  decision_id: string
  /** Time of the review, milliseconds since 1970. */
  at_ms: number
}

/** State of one circuit breaker. */
export interface Breaker {
  scope: string
  state: 'closed' | 'open' | 'half_open'
  /** Times of the reviews that still count, ascending, milliseconds since 1970. */
  reviews_ms: number[]
  /** The failures among them. */
  failures: Failure[]
  /** The failures that last opened the breaker, kept until it closes. */
  opened_by: Failure[]
  opened_ms: number | null
  probe_decision_id: string | null
  probe_started_ms: number | null
}

/** The skeleton of a scope, so that no other spelling bypasses a breaker. Agents are authenticated, and therefore compared exactly. */
const folded = (scope: string): string => (scope.startsWith('agent:') ? scope : skeleton(scope))

/** The rules that watch a subject with these scopes. */
export function watching(rules: readonly BreakerRule[], scopes: readonly string[]): BreakerRule[] {
  if (rules.length === 0) return []
  const own = new Set(scopes.map(folded))
  return rules.filter(({ scope }) => own.has(folded(scope)))
}

const closed = (scope: string): Breaker => ({
  scope,
  state: 'closed',
  failures: [],
  reviews_ms: [],
  opened_by: [],
  opened_ms: null,
  probe_decision_id: null,
  probe_started_ms: null,
})

/**
 * The state at this time: windows slide, cooldowns end, and a probe that is not reviewed expires. A stored time that is ahead by more than
 * the span comes from a clock that was set back since, and doesn't count.
 */
export function current(rule: BreakerRule, stored: Breaker | null, now_ms: number): Breaker {
  const state = stored ?? closed(rule.scope)
  const isWithin = (at: number, span_ms: number) => Math.abs(now_ms - at) < span_ms
  const isFresh = (at: number) => isWithin(at, rule.window_ms)
  const breaker: Breaker = {
    ...state,
    failures: state.failures.filter(({ at_ms }) => isFresh(at_ms)),
    reviews_ms: state.reviews_ms.filter(isFresh),
  }
  if (breaker.state === 'open' && breaker.opened_ms !== null && !isWithin(breaker.opened_ms, rule.cooldown_ms)) {
    return { ...breaker, state: 'half_open', probe_decision_id: null, probe_started_ms: null }
  }
  if (
    breaker.state === 'half_open' &&
    breaker.probe_started_ms !== null &&
    !isWithin(breaker.probe_started_ms, rule.cooldown_ms)
  ) {
    return { ...breaker, probe_decision_id: null, probe_started_ms: null }
  }
  return breaker
}

/** True if the breaker blocks every action in its scope: open, or half-open with its probe in progress. */
export const blocks = (breaker: Breaker): boolean =>
  breaker.state === 'open' || (breaker.state === 'half_open' && breaker.probe_decision_id !== null)

/** The state after a decision was recorded: in half-open state, the first one becomes the probe. */
export function afterRecord(breaker: Breaker, decision_id: string, now_ms: number): Breaker {
  if (breaker.state !== 'half_open' || breaker.probe_decision_id !== null) return breaker
  return { ...breaker, probe_decision_id: decision_id, probe_started_ms: now_ms }
}

/** A review that counts, as breakers see it. */
export interface BreakerReview {
  decision_id: string
  outcome: Outcome
  /** The review of the same decision that counted before. */
  before: Pick<Review, 'outcome' | 'reviewed_at'> | null
  /** Whether the review comes from evidence, another agent or a curator: a recorder's review of its own success closes no breaker. */
  trusted: boolean
}

/** The times without one occurrence of this one. */
const without = (times: readonly number[], at: number): number[] => {
  const found = times.indexOf(at)
  return found < 0 ? [...times] : times.toSpliced(found, 1)
}

/**
 * The state after a review. Each decision counts once, with the review that counts. An abandoned decision says nothing about success. As a
 * probe, it expires only with its cooldown: otherwise an agent could pass a half-open breaker by abandoning one probe after another.
 */
export function afterReview(
  rule: BreakerRule,
  breaker: Breaker,
  { decision_id, outcome, before, trusted }: BreakerReview,
  now_ms: number,
): Breaker {
  const [was, is] = [before?.outcome ?? 'abandoned', outcome]
  const before_ms = before === null ? 0 : Date.parse(before.reviewed_at)
  let { reviews_ms, failures } = breaker
  if (was === 'abandoned' && is !== 'abandoned') reviews_ms = [...reviews_ms, now_ms]
  if (was !== 'abandoned' && is === 'abandoned') reviews_ms = without(reviews_ms, before_ms)
  if (was !== 'failure' && is === 'failure') failures = [...failures, { decision_id, at_ms: now_ms }]
  if (was === 'failure' && is !== 'failure') failures = failures.filter((one) => one.decision_id !== decision_id)
  const counted = reviews_ms === breaker.reviews_ms && failures === breaker.failures
  const next = counted ? breaker : { ...breaker, reviews_ms, failures }
  if (is === 'abandoned') return next
  const open: Breaker = {
    ...next,
    state: 'open',
    opened_ms: now_ms,
    opened_by: breaker.state === 'half_open' ? failures.filter((one) => one.decision_id === decision_id) : failures,
    probe_decision_id: null,
    probe_started_ms: null,
  }
  if (breaker.state === 'half_open' && breaker.probe_decision_id === decision_id) {
    if (is === 'failure') return open
    return trusted || rule.self_review ? closed(rule.scope) : next
  }
  const isNew = failures.length > breaker.failures.length
  return breaker.state === 'closed' && isNew && failures.length >= rule.failure_threshold ? open : next
}

/** The state after an operator's reset; null if there is nothing to reset. */
export function reset(breaker: Breaker, probe_first: boolean): Breaker | null {
  if (breaker.state === 'closed') return null
  const fresh = closed(breaker.scope)
  return probe_first
    ? {
        ...fresh,
        state: 'half_open',
        opened_ms: breaker.opened_ms,
        opened_by: breaker.opened_by,
        failures: breaker.failures,
        reviews_ms: breaker.reviews_ms,
      }
    : fresh
}

/** When an action in its scope may be tried again, RFC 3339; null if the breaker does not block. */
export function resetAt(rule: BreakerRule, breaker: Breaker): string | null {
  if (!blocks(breaker)) return null
  const from = breaker.state === 'open' ? breaker.opened_ms : breaker.probe_started_ms
  return new Date((from ?? 0) + rule.cooldown_ms).toISOString()
}

/** Share of failures among the reviews in the window, 0 to 1; null without reviews. */
export const failureRate = ({ failures, reviews_ms }: Breaker): number | null =>
  reviews_ms.length === 0 ? null : failures.length / reviews_ms.length

/** A breaker as methods return it. */
export function showBreaker(rule: BreakerRule, stored: Breaker | null, now_ms: number) {
  const breaker = current(rule, stored, now_ms)
  const until = resetAt(rule, breaker)
  return {
    ...rule,
    state: breaker.state,
    failure_count: breaker.failures.length,
    cooldown_remaining_ms: until === null ? 0 : Math.max(0, Date.parse(until) - now_ms),
    opened_at: breaker.opened_ms === null ? null : new Date(breaker.opened_ms).toISOString(),
    opened_by: breaker.opened_by.map(({ decision_id, at_ms }) => ({
      decision_id,
      reviewed_at: new Date(at_ms).toISOString(),
    })),
    probe_decision_id: breaker.probe_decision_id,
  }
}

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
