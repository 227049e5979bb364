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
        refusal(fresh({ approvers, separation }), { agent: 'alice', roles }, false, 0) !== null,
    ),
  )
  expect(refusal(fresh(), { agent: 'bob', roles: [] }, true, 0)).toBeNull()
  expect(refusal(fresh({ on_behalf_of: 'bob' }), { agent: 'bob', roles: [] }, true, 0)).toContain('acts for bob')
  expect(refusal(fresh({ on_behalf_of: 'bob', separation: false }), { agent: 'bob', roles: [] }, true, 0)).toBeNull()
  // A claim takes the grant from the one that it names, and never the denial.
  expect(refusal(fresh({ on_behalf_of: 'bob' }), { agent: 'bob', roles: [] }, false, 0)).toBeNull()
  const managed = fresh({ approvers: ['release-managers'] })
  expect(refusal(managed, { agent: 'bob', roles: ['approve'] }, true, 0)).toContain('release-managers')
  expect(refusal(managed, { agent: 'bob', roles: ['approve', 'release-managers'] }, true, 0)).toBeNull()
})

test('who may answer: a login at the issuer, as recent and of the kind that the rule wants; to deny none is needed', () => {
  const now_ms = 1_000_000_000
  const identity = { issuer: 'https://issuer.example', sub: 'b-1', kind: 'person' as const }
  const bob = (more: object | null) => ({
    agent: 'bob',
    roles: [],
    ...(more && { identity: { ...identity, ...more } }),
  })
  const recent = fresh({ authentication: { max_age_s: 300, acr: null } })
  const strong = fresh({ authentication: { max_age_s: null, acr: ['mfa', 'hwk'] } })
  const at = now_ms / 1_000
  expect(refusal(recent, bob({ auth_time: at - 300 }), true, now_ms)).toBeNull()
  for (const who of [null, {}, { auth_time: at - 301 }])
    expect(refusal(recent, bob(who), true, now_ms)).toBe(
      'the rule wants a login at the issuer within 300 s: log in again',
    )
  expect(refusal(recent, bob(null), false, now_ms)).toBeNull()
  expect(refusal(strong, bob({ acr: 'hwk' }), true, now_ms)).toBeNull()
  for (const who of [null, { auth_time: at }, { acr: 'pwd' }])
    expect(refusal(strong, bob(who), true, now_ms)).toContain('as mfa or hwk')
})

test('who may answer: the person whom the issuer names does not grant what its agent asks for', () => {
  const identity = { issuer: 'https://issuer.example', sub: 'b-1', kind: 'person' as const }
  const asked = fresh({ on_behalf_of: 'b-1' })
  expect(refusal(asked, { agent: 'bob', roles: [], identity }, true, 0)).toContain('acts for bob')
  expect(refusal(asked, { agent: 'eve', roles: [], identity: { ...identity, sub: 'e-1' } }, true, 0)).toBeNull()
})
