/**
 * Circuit breakers: closed → (threshold failures in the window) → open → (cooldown) → half-open → one probe, a recorded decision whose
 * review closes or reopens the breaker. Pure functions over the stored state; the time is a parameter.
 */
import { invalidParams } from '../../../../sdk/errors.ts'
import type { Outcome, Review } from '../../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'

/** A review with outcome `failure`. */
export interface Failure {
  decision_id: string
  /** Time of the review, milliseconds since 1970. */
  at_ms: number
  /** The agent whose failures count once; absent if each counts, as from evidence or a curator. */
  by?: string
  /** The pull request whose evidence it is, `repository#number`: it is one failure, however many decisions it settles. */
  event?: string
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
  /** The agent that recorded the probe. */
  probe_by?: string | null
  /** The last probe that nobody reviewed in time, and when its time ended: its agent lets others go first. */
  expired_probe?: { by: string; at_ms: number } | null
}

/**
 * Number of failures that count: one of each pull request; and a breaker on an agent counts at most one from each other agent in the window,
 * so that nobody alone can stop another agent.
 */
export function countedFailures(failures: readonly Failure[], scope: string): number {
  const isOfAgent = scope.startsWith('agent:')
  const names = failures.map(({ by, event, decision_id }) =>
    JSON.stringify(isOfAgent && by !== undefined ? { by } : event === undefined ? { decision_id } : { event }),
  )
  return new Set(names).size
}

/** The first state of a breaker. */
export const closed = (scope: string): Breaker => ({
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
    const { probe_by: by = null, probe_started_ms } = breaker
    const expired_probe = by === null ? null : { by, at_ms: probe_started_ms + rule.cooldown_ms }
    return { ...breaker, probe_decision_id: null, probe_started_ms: null, probe_by: null, expired_probe }
  }
  return breaker
}

/**
 * Until when this agent lets others probe first, milliseconds since 1970; null if it need not. An agent whose probe nobody reviewed could
 * otherwise hold a half-open breaker for ever. A breaker on an agent has no others.
 */
function yieldsUntil(
  rule: BreakerRule,
  { scope, expired_probe }: Breaker,
  agent: string,
  now_ms: number,
): number | null {
  if (!expired_probe || expired_probe.by !== agent || scope.startsWith('agent:')) return null
  const until = expired_probe.at_ms + rule.cooldown_ms
  return now_ms < until ? until : null
}

/** True if the breaker blocks an action in its scope: open, or half-open with a probe in progress or while the agent lets others go first. */
export const blocks = (rule: BreakerRule, breaker: Breaker, agent: string | null, now_ms: number): boolean =>
  breaker.state === 'open' ||
  (breaker.state === 'half_open' &&
    (breaker.probe_decision_id !== null || (agent !== null && yieldsUntil(rule, breaker, agent, now_ms) !== null)))

/** The state after an agent recorded a decision: in half-open state, the first one becomes the probe. */
export function afterRecord(
  rule: BreakerRule,
  breaker: Breaker,
  { id, agent }: { id: string; agent: string },
  now_ms: number,
): Breaker {
  if (breaker.state !== 'half_open' || blocks(rule, breaker, agent, now_ms)) return breaker
  return { ...breaker, probe_decision_id: id, probe_started_ms: now_ms, probe_by: agent, expired_probe: null }
}

/** A review that counts, as breakers see it. */
export interface BreakerReview {
  decision_id: string
  outcome: Outcome
  /** The review of the same decision that counted before. */
  before: Pick<Review, 'outcome' | 'reviewed_at'> | null
  /** Whether the review comes from evidence, another agent or a curator: a recorder's review of its own success closes no breaker. */
  trusted: boolean
  /** The other agent whose failures a breaker on an agent counts once; null for evidence, a curator, and the recorder itself. */
  limited_to: string | null
  /** The pull request whose evidence settled it, if one did. */
  event?: string | undefined
  /**
   * Whether a failure that it takes back was never one: its own author, evidence or a curator says so. If another agent only disputes what the
   * recorder admitted, an open breaker stays open.
   */
  corrects: boolean
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
  { decision_id, outcome, before, trusted, limited_to, event, corrects }: BreakerReview,
  now_ms: number,
): Breaker {
  const [was, is] = [before?.outcome ?? 'abandoned', outcome]
  const before_ms = before === null ? 0 : Date.parse(before.reviewed_at)
  let { reviews_ms, failures } = breaker
  if (was === 'abandoned' && is !== 'abandoned') reviews_ms = [...reviews_ms, now_ms]
  if (was !== 'abandoned' && is === 'abandoned') reviews_ms = without(reviews_ms, before_ms)
  if (is === 'failure') {
    const by = { ...(limited_to !== null && { by: limited_to }), ...(event !== undefined && { event }) }
    // Evidence or a curator may confirm a failure that counted only for its reviewer.
    if (was === 'failure')
      failures = failures.map((one) =>
        one.decision_id === decision_id ? { decision_id, at_ms: one.at_ms, ...by } : one,
      )
    else failures = [...failures, { decision_id, at_ms: now_ms, ...by }]
  }
  if (was === 'failure' && is !== 'failure') failures = failures.filter((one) => one.decision_id !== decision_id)
  const counted = reviews_ms === breaker.reviews_ms && failures === breaker.failures
  const next = counted ? breaker : { ...breaker, reviews_ms, failures }
  if (was === 'failure' && is !== 'failure' && corrects && isCorrected(rule, breaker, decision_id))
    return { ...closed(rule.scope), failures, reviews_ms }
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
  const count = (list: readonly Failure[]) => countedFailures(list, rule.scope)
  const isNew = count(failures) > count(breaker.failures)
  return breaker.state === 'closed' && isNew && count(failures) >= rule.failure_threshold ? open : next
}

/** Whether a breaker would not have opened without the failure of a decision: a review that outweighs it took the failure back. */
function isCorrected(rule: BreakerRule, { state, opened_by }: Breaker, decision_id: string): boolean {
  if (state === 'closed') return false
  const left = opened_by.filter((one) => one.decision_id !== decision_id)
  // A failed probe opens a breaker alone.
  const needed = Math.min(rule.failure_threshold, countedFailures(opened_by, rule.scope))
  return left.length < opened_by.length && countedFailures(left, rule.scope) < needed
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

/** When an agent may try an action in its scope again, RFC 3339; null if the breaker does not block it. */
export function resetAt(rule: BreakerRule, breaker: Breaker, agent: string | null, now_ms: number): string | null {
  if (!blocks(rule, breaker, agent, now_ms)) return null
  const own = agent === null ? null : yieldsUntil(rule, breaker, agent, now_ms)
  if (breaker.state === 'half_open' && breaker.probe_decision_id === null && own !== null)
    return new Date(own).toISOString()
  const from = breaker.state === 'open' ? breaker.opened_ms : breaker.probe_started_ms
  return new Date((from ?? 0) + rule.cooldown_ms).toISOString()
}

/** Share of failures among the reviews in the window, 0 to 1; null without reviews. */
export const failureRate = ({ failures, reviews_ms }: Breaker): number | null =>
  reviews_ms.length === 0 ? null : failures.length / reviews_ms.length

/** A breaker as methods return it. */
export function showBreaker(rule: BreakerRule, stored: Breaker | null, now_ms: number) {
  const breaker = current(rule, stored, now_ms)
  const until = resetAt(rule, breaker, null, now_ms)
  return {
    ...rule,
    state: breaker.state,
    failure_count: countedFailures(breaker.failures, rule.scope),
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
