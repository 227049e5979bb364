/** The state machine of circuit breakers, with time as a value. */
import { describe, expect, test } from 'bun:test'
import type { Outcome } from '../../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import {
  afterRecord,
  afterReview,
  type Breaker,
  type BreakerReview,
  blocks,
  current,
  failureRate,
  reset,
  resetAt,
  showBreaker,
} from '../../../../src/domain/policy/judge/breaker.ts'
import { watching } from '../../../../src/domain/policy/judge/breakers.ts'
import { breakerScopes } from '../../../../src/domain/record/decision/decision.ts'

const rule = { scope: 'global', failure_threshold: 3, window_ms: 1_000, cooldown_ms: 500, self_review: false }

/** A breaker that time and reviews act on. */
function machine(stored: Breaker | null = null) {
  let state = stored
  return {
    at(now: number) {
      const breaker = current(rule, state, now)
      return { ...breaker, failures_ms: breaker.failures.map(({ at_ms }) => at_ms) }
    },
    record(id: string, now: number, agent = 'ada') {
      state = afterRecord(rule, current(rule, state, now), { id, agent }, now)
      return this
    },
    review(decision_id: string, outcome: Outcome, now: number, more: Partial<BreakerReview> & { own?: boolean } = {}) {
      const { own = false, ...rest } = more
      const using = { ...rule, self_review: own }
      const review = { decision_id, outcome, before: null, trusted: true, limited_to: null, corrects: false, ...rest }
      state = afterReview(using, current(rule, state, now), review, now)
      return this
    },
    reset(probe_first: boolean, now: number) {
      const after = reset(current(rule, state, now), probe_first)
      if (after) state = after
      return after !== null
    },
  }
}
const opened = () => machine().review('a', 'failure', 0).review('b', 'failure', 10).review('c', 'failure', 20)

describe('closed', () => {
  test('opens at the threshold, within the window', () => {
    const one = machine().review('a', 'failure', 0).review('b', 'failure', 10)
    expect(one.at(10).state).toBe('closed')
    expect(one.review('c', 'failure', 20).at(20)).toMatchObject({ state: 'open', opened_ms: 20 })
    const spread = machine().review('a', 'failure', 0).review('b', 'failure', 10).review('c', 'failure', 1_000)
    expect(spread.at(1_000)).toMatchObject({ state: 'closed', failures_ms: [10, 1_000] })
    expect(spread.review('d', 'failure', 1_009).at(1_009).state).toBe('open')
  })

  test('success and partial count as reviews only, abandoned as nothing', () => {
    const one = machine().review('a', 'success', 1).review('b', 'partial', 2).review('c', 'abandoned', 3)
    expect(one.at(3)).toMatchObject({ state: 'closed', reviews_ms: [1, 2], failures_ms: [] })
    expect(failureRate(one.review('d', 'failure', 4).at(4))).toBeCloseTo(1 / 3)
    expect(failureRate(one.at(10_000))).toBeNull()
  })

  test('a record is no probe', () => {
    expect(machine().record('p', 1).at(1).probe_decision_id).toBeNull()
  })
})

describe('open', () => {
  test('blocks for the cooldown and not a moment longer', () => {
    const one = opened()
    for (const now of [20, 519]) expect(blocks(rule, one.at(now), null, now)).toBe(true)
    expect(resetAt(rule, one.at(20), null, 20)).toBe(new Date(520).toISOString())
    expect(one.at(520).state).toBe('half_open')
    expect(blocks(rule, one.at(520), null, 520)).toBe(false)
    expect(resetAt(rule, one.at(520), null, 520)).toBeNull()
  })

  test('a record while it is open is no probe, and reviews prolong nothing', () => {
    const one = opened().record('early', 100).review('x', 'failure', 200).review('y', 'success', 300)
    expect(one.at(400)).toMatchObject({ state: 'open', opened_ms: 20, probe_decision_id: null })
    expect(one.at(520).state).toBe('half_open')
  })
})

describe('half-open', () => {
  test('the first record is the probe, later ones are not', () => {
    const one = opened().record('p', 600).record('q', 610)
    expect(one.at(610)).toMatchObject({ state: 'half_open', probe_decision_id: 'p', probe_started_ms: 600 })
    expect(blocks(rule, one.at(610), null, 610)).toBe(true)
  })

  test.each([
    ['success', 'closed'],
    ['partial', 'closed'],
    ['failure', 'open'],
    ['abandoned', 'half_open'],
  ] as const)('a probe that ended in %s leaves it %s', (outcome, state) => {
    const one = opened().record('p', 600).review('p', outcome, 700)
    expect(one.at(700).state).toBe(state)
    if (state === 'closed') expect(one.at(700)).toMatchObject({ failures_ms: [], opened_ms: null })
    if (state === 'open') expect(one.at(700).opened_ms).toBe(700)
    // An abandoned probe holds the door until its cooldown is over.
    if (state === 'half_open')
      expect([blocks(rule, one.at(1_099), null, 1_099), blocks(rule, one.at(1_100), null, 1_100)]).toEqual([
        true,
        false,
      ])
  })

  test('reviews of others settle nothing', () => {
    const one = opened().record('p', 600).review('x', 'success', 610).review('y', 'failure', 620)
    expect(one.at(620)).toMatchObject({ state: 'half_open', probe_decision_id: 'p' })
  })

  test('a probe that nobody reviews is given up after another cooldown', () => {
    const one = opened().record('p', 600)
    expect(blocks(rule, one.at(1_099), null, 1_099)).toBe(true)
    expect(one.at(1_100)).toMatchObject({ state: 'half_open', probe_decision_id: null })
    one.record('q', 1_200, 'bob')
    expect(one.at(1_200).probe_decision_id).toBe('q')
    // The old probe's review comes late and counts as any other.
    expect(one.review('p', 'success', 1_210).at(1_210)).toMatchObject({ state: 'half_open', probe_decision_id: 'q' })
    expect(one.review('q', 'failure', 1_220).at(1_220)).toMatchObject({ state: 'open', opened_ms: 1_220 })
  })
})

test('reset works from open and half-open', () => {
  expect(machine().reset(false, 0)).toBe(false)
  const one = opened()
  expect(one.reset(true, 30)).toBe(true)
  expect(one.at(30)).toMatchObject({ state: 'half_open', probe_decision_id: null })
  expect(blocks(rule, one.at(30), null, 30)).toBe(false)
  one.record('p', 40)
  expect(one.reset(false, 50)).toBe(true)
  expect(one.at(50)).toMatchObject({ state: 'closed', failures_ms: [], probe_decision_id: null })
  expect(opened().review('x', 'failure', 30).reset(false, 40)).toBe(true)
})

describe('a decision counts once, as the review that counts says', () => {
  const at = (ms: number) => new Date(ms).toISOString()
  const after = (outcome: Outcome, ms: number) => ({ before: { outcome, reviewed_at: at(ms) } })

  test('the same outcome said again changes nothing', () => {
    const one = machine().review('a', 'failure', 1).review('a', 'failure', 2, after('failure', 1))
    expect(one.at(2)).toMatchObject({ failures_ms: [1], reviews_ms: [1] })
    const two = machine().review('a', 'success', 1).review('a', 'partial', 2, after('success', 1))
    expect(two.at(2)).toMatchObject({ failures_ms: [], reviews_ms: [1] })
  })

  test('a failure that others find later counts from then on', () => {
    const one = machine().review('a', 'success', 1).review('a', 'failure', 2, after('success', 1))
    expect(one.at(2)).toMatchObject({ failures_ms: [2], reviews_ms: [1] })
  })

  test('a failure that others deny counts no longer, but an open breaker stays open', () => {
    const one = machine().review('a', 'failure', 1).review('a', 'success', 2, after('failure', 1))
    expect(one.at(2)).toMatchObject({ failures_ms: [], reviews_ms: [1] })
    expect(opened().review('a', 'success', 30, after('failure', 0)).at(30).state).toBe('open')
  })

  test('a failure that is confirmed after a reset opens nothing again', () => {
    const one = opened()
    one.reset(false, 30)
    for (const [id, ms] of [
      ['a', 0],
      ['b', 10],
      ['c', 20],
    ] as const)
      one.review(id, 'failure', 40, after('failure', ms))
    expect(one.at(40)).toMatchObject({ state: 'closed', failures_ms: [] })
  })
})

describe('the own review of a probe', () => {
  const probing = () => opened().record('p', 600)

  test('closes nothing, unless the rule says so', () => {
    expect(probing().review('p', 'success', 700, { trusted: false }).at(700)).toMatchObject({
      state: 'half_open',
      probe_decision_id: 'p',
    })
    expect(probing().review('p', 'success', 700, { trusted: false, own: true }).at(700).state).toBe('closed')
  })

  test('opens the breaker again: nobody gains by a failure', () => {
    expect(probing().review('p', 'failure', 700, { trusted: false }).at(700).state).toBe('open')
  })

  test('leaves the door to the review of another agent', () => {
    const one = probing().review('p', 'success', 700, { trusted: false })
    const before = { outcome: 'success' as const, reviewed_at: new Date(700).toISOString() }
    expect(one.review('p', 'success', 800, { before }).at(800).state).toBe('closed')
  })
})

test('a clock that was set back leaves a breaker open for two cooldowns at most, and drops what it wrote', () => {
  const ahead = 10 ** 9
  const one = machine()
  for (const id of ['a', 'b', 'c']) one.review(id, 'failure', ahead)
  expect(one.at(ahead).state).toBe('open')
  expect(one.at(0)).toMatchObject({ state: 'half_open', failures_ms: [], reviews_ms: [] })
  expect([one.at(ahead - 499).state, one.at(ahead - 500).state]).toEqual(['open', 'half_open'])
  const probe = opened().record('p', 600)
  expect([probe.at(101).probe_decision_id, probe.at(100).probe_decision_id]).toEqual(['p', null])
})

describe('scopes', () => {
  const subject = { category: 'a:b', stakes: 'high', agent: 'bob', tags: ['x', 'y'], project: null }
  const watched = (scope: string, given: Partial<typeof subject> | { category: null } = {}) =>
    watching([{ ...rule, scope }], breakerScopes({ ...subject, ...given })).length === 1

  test('watch by value', () => {
    for (const scope of ['global', 'category:a:b', 'stakes:high', 'agent:bob', 'tag:y'])
      expect([scope, watched(scope)]).toEqual([scope, true])
    for (const scope of ['category:a', 'stakes:low', 'agent:Bob', 'tag:z', 'project:null', 'other:x'])
      expect([scope, watched(scope)]).toEqual([scope, false])
  })

  test('another spelling is no way around', () => {
    for (const category of ['Deployment', 'DEPLOYMENT', 'dерlоymеnt', 'ｄeployment'])
      expect([category, watched('category:deployment', { category })]).toEqual([category, true])
  })

  test('an action without a category is what its record would be', () => {
    expect(watched('category:uncategorized', { category: null })).toBe(true)
  })
})

test('what is shown', () => {
  expect(showBreaker(rule, null, 5)).toEqual({
    ...rule,
    state: 'closed',
    failure_count: 0,
    cooldown_remaining_ms: 0,
    opened_at: null,
    opened_by: [],
    probe_decision_id: null,
  })
  const stored = opened().at(20)
  expect(showBreaker(rule, stored, 120)).toMatchObject({ state: 'open', failure_count: 3, cooldown_remaining_ms: 400 })
  expect(showBreaker(rule, stored, 120).opened_by).toEqual(
    ['a', 'b', 'c'].map((decision_id, at) => ({ decision_id, reviewed_at: new Date(10 * at).toISOString() })),
  )
  expect(showBreaker(rule, stored, 520)).toMatchObject({ state: 'half_open', cooldown_remaining_ms: 0 })
})

describe('a breaker on an agent', () => {
  const onAgent = { ...rule, scope: 'agent:alice', failure_threshold: 2 }
  const said = (limited_to: string | null) => ({ before: null, trusted: true, limited_to, corrects: false })
  const after = (reviews: readonly (string | null)[]) =>
    reviews.reduce<Breaker | null>(
      (state, by, at) =>
        afterReview(
          onAgent,
          current(onAgent, state, at),
          { decision_id: `d${at}`, outcome: 'failure', ...said(by) },
          at,
        ),
      null,
    )

  test('counts one failure of each other agent in the window, and each of evidence, curators and the agent itself', () => {
    expect(after(['bob', 'bob', 'bob'])).toMatchObject({ state: 'closed' })
    expect(showBreaker(onAgent, after(['bob', 'bob']), 3).failure_count).toBe(1)
    expect(after(['bob', 'carol'])).toMatchObject({ state: 'open' })
    expect(after([null, null])).toMatchObject({ state: 'open' })
    expect(after(['bob', null])).toMatchObject({ state: 'open' })
  })

  test('counts each failure where it watches something else than an agent', () => {
    const one = machine().review('a', 'failure', 0, said('bob')).review('b', 'failure', 1, said('bob'))
    expect(one.review('c', 'failure', 2, said('bob')).at(2).state).toBe('open')
  })

  test('counts one failure of each pull request, however many decisions its evidence settles', () => {
    const of = (events: readonly string[], watched: BreakerRule) =>
      events.reduce<Breaker | null>((state, event, at) => {
        const failed = { decision_id: `d${at}`, outcome: 'failure' as const, event, ...said(null) }
        return afterReview(watched, current(watched, state, at), failed, at)
      }, null)
    for (const watched of [onAgent, { ...rule, failure_threshold: 2 }]) {
      expect(of(['acme/shop#1', 'acme/shop#1', 'acme/shop#1'], watched)).toMatchObject({ state: 'closed' })
      expect(of(['acme/shop#1', 'acme/shop#1', 'acme/shop#2'], watched)).toMatchObject({ state: 'open' })
    }
  })

  test('closes when a failure without which it had not opened is taken back, and takes up the next one', () => {
    const corrected = (corrects: boolean) => {
      const before = { outcome: 'failure' as const, reviewed_at: new Date(1).toISOString() }
      const review = {
        decision_id: 'd1',
        outcome: 'success' as const,
        before,
        trusted: true,
        limited_to: null,
        corrects,
      }
      return afterReview(onAgent, current(onAgent, after(['bob', 'carol']), 5), review, 5)
    }
    expect(corrected(true)).toMatchObject({ state: 'closed', failures: [{ decision_id: 'd0' }] })
    expect(corrected(false)).toMatchObject({ state: 'open' })
  })
})

test('an agent whose probe nobody reviewed lets others probe first, for one cooldown', () => {
  const one = opened().record('p', 600, 'mallory')
  const state = one.at(1_100)
  expect([blocks(rule, state, 'mallory', 1_100), blocks(rule, state, 'bob', 1_100)]).toEqual([true, false])
  expect(resetAt(rule, state, 'mallory', 1_100)).toBe(new Date(1_600).toISOString())
  expect(one.record('q', 1_100, 'mallory').at(1_100).probe_decision_id).toBeNull()
  expect(one.record('r', 1_101, 'bob').at(1_101).probe_decision_id).toBe('r')
  const alone = opened().record('p', 600, 'mallory')
  expect(alone.record('q', 1_600, 'mallory').at(1_600).probe_decision_id).toBe('q')
})
