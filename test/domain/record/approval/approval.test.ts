/** The state machine of an approval, against a model: any sequence of answers, uses and waits. */
import { expect, test } from 'bun:test'
import {
  type Approval,
  consume,
  current,
  decide,
  holds,
  refusal,
} from '../../../../src/domain/record/approval/approval.ts'
import * as fc from '../../../support/property.ts'

const hour = 3_600_000

const fresh = (given: Partial<Approval> = {}): Approval => ({
  id: '7F3K-Q2MX',
  evaluation_id: 'e',
  request_digest: 'd',
  policy_hash: 'p',
  requester: 'alice',
  on_behalf_of: null,
  session: null,
  action: {
    description: 'Pay',
    category: null,
    stakes: null,
    confidence: null,
    tags: [],
    project: null,
    scope: null,
    context: {},
  },
  rules: [],
  approvers: [],
  remember: 'none',
  lasts_ms: hour,
  separation: true,
  state: 'pending',
  requested_ms: 0,
  expires_ms: hour,
  decided_by: null,
  decided_ms: null,
  reason: null,
  approved_until_ms: null,
  consumed_ms: null,
  ...given,
})

const step = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2 * hour }) }),
  fc.record({ kind: fc.constant('answer' as const), granted: fc.boolean() }),
  fc.record({ kind: fc.constant('use' as const) }),
)

test('an action passes only with a grant in time: once, or until the end that the rule names', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.option(fc.integer({ min: 1, max: 48 })), (steps, hours) => {
      let approval = fresh(hours === null ? {} : { remember: `exact:${hours}h`, lasts_ms: hours * hour })
      let now = 0
      // The model: when it was granted or denied, and how often it was used.
      const model = { granted: null as number | null, denied: false, uses: 0 }
      const lasts = hours === null ? hour : hours * hour
      for (const one of steps) {
        if (one.kind === 'wait') now += one.ms
        else if (one.kind === 'answer') {
          const open = model.granted === null && !model.denied && now < hour
          const next = decide(approval, { granted: one.granted, by: 'carol', reason: null }, now)
          expect(next !== null).toBe(open)
          if (next) {
            approval = next
            if (one.granted) model.granted = now
            else model.denied = true
          }
        } else {
          const usable = model.granted !== null && now < model.granted + lasts && (hours !== null || model.uses === 0)
          const next = consume(approval, now)
          expect(next !== null).toBe(usable)
          if (next) {
            approval = next
            model.uses++
          }
        }
        const { state } = current(approval, now)
        const expected = model.denied
          ? 'denied'
          : model.granted === null
            ? now < hour
              ? 'pending'
              : 'expired'
            : hours === null && model.uses > 0
              ? 'consumed'
              : now < model.granted + lasts
                ? 'approved'
                : 'expired'
        expect(state).toBe(expected)
        // What has ended never comes back, and asking again waits for the end of a denial.
        expect(holds(approval, now)).toBe(expected === 'pending' || (expected === 'denied' && now < hour))
      }
    }),
  )
})

test('who may answer: never the requester, whatever its roles', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('alice', 'bob', 'admin', 'release-managers')),
      fc.array(fc.constantFrom('admin', 'approve', 'release-managers')),
      fc.boolean(),
      (approvers, roles, separation) =>
        refusal(fresh({ approvers, separation }), { agent: 'alice', roles }, false) !== null,
    ),
  )
  expect(refusal(fresh(), { agent: 'bob', roles: [] }, true)).toBeNull()
  expect(refusal(fresh({ on_behalf_of: 'bob' }), { agent: 'bob', roles: [] }, true)).toContain('acts for bob')
  expect(refusal(fresh({ on_behalf_of: 'bob', separation: false }), { agent: 'bob', roles: [] }, true)).toBeNull()
  // A claim takes the grant from the one that it names, and never the denial.
  expect(refusal(fresh({ on_behalf_of: 'bob' }), { agent: 'bob', roles: [] }, false)).toBeNull()
  const managed = fresh({ approvers: ['release-managers'] })
  expect(refusal(managed, { agent: 'bob', roles: ['approve'] }, true)).toContain('release-managers')
  expect(refusal(managed, { agent: 'bob', roles: ['approve', 'release-managers'] }, true)).toBeNull()
})
