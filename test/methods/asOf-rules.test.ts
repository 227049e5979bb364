/** Rules of an earlier time: the set that was in force, over what was recorded by then; on every store. */
import { describe, expect, test } from 'bun:test'
import { replay } from '../../src/domain/policy/trial/replay.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const minute = 60_000
const day = 86_400_000
const strictRules =
  'guardrails:\n  - { id: no-deploys, action: block, message: Not now, conditions: [{ type: field, field: category, operator: "=", value: deployment }] }\n'

forEachBackend((open) => {
  describe('checkGuardrails as_of', () => {
    const later = (program: TestProgram, ms = minute): string => {
      const at = new Date(program.clock.now).toISOString()
      program.clock.now += ms
      return at
    }

    test('asks the rules of then, and says where the archive has none', async () => {
      const program = await open()
      const { call, refused, rules, clock } = program
      const before = later(program)
      await rules(strictRules)
      const strict = later(program)
      await rules('')
      const loose = later(program)
      const check = (as_of: string) =>
        call('checkGuardrails', { action: { description: 'Ship it', category: 'deployment' }, dry_run: true, as_of })
      expect((await check(strict)).violations.map(({ guardrail_id }) => guardrail_id)).toEqual(['no-deploys'])
      expect((await check(loose)).allowed).toBe(true)
      expect((await call('listGuardrails', { as_of: strict })).guardrails.map(({ id }) => id)).toEqual(['no-deploys'])
      expect((await refused('listGuardrails', { as_of: before })).message).toContain('archive')
      // Its row in the trail is of the time of the question, and says which time it asked about.
      const { entries } = await call('listAudit', { method: 'cstp.checkGuardrails' }, 'root')
      expect(entries[1]).toMatchObject({ at: new Date(clock.now).toISOString(), detail: { as_of: strict } })
      const { policy_hash } = await call('getPolicy')
      expect((await check(loose)).policy_hash).toBe(policy_hash)
    })

    test('judges by counts of then, refuses what was not kept, and can be replayed', async () => {
      const program = await open()
      const { call, rules, record } = program
      await rules(`guardrails:
  - { id: often, action: block, message: Too often, conditions: [{ type: temporal, field: category, value: architecture, window_hours: 1, max_occurrences: 2 }] }
  - { id: left, action: block, message: Left, condition_category: mail, condition_session.actions: contains payment }
circuit_breakers: [{ scope: "category:mail", failure_threshold: 1, window_ms: 86400000, cooldown_ms: 3600000 }]
`)
      await record()
      const one = later(program)
      await record()
      const two = later(program, day)
      const check = (category: string, as_of: string) =>
        call('checkGuardrails', { action: { description: 'Do it', category }, dry_run: true, as_of })
      const fired = [await check('architecture', one), await check('architecture', two)].map(({ violations }) =>
        violations.map(({ guardrail_id }) => guardrail_id),
      )
      expect(fired).toEqual([[], ['often']])
      const mail = await check('mail', one)
      expect(mail.violations).toMatchObject([
        { guardrail_id: 'left', error: 'the session of an earlier time is not kept' },
      ])
      expect(mail.as_of?.limits).toMatchObject([{ limit: 'circuit_breakers' }])
      const now = await program.services.policy.current()
      for (const entry of await program.store.audit.list({ method: 'cstp.checkGuardrails', limit: 10 }))
        expect((await replay(now, async () => now, entry))?.by_its_rules.outcome).toBe('same')
    })

    test('sees the approvals and the evidence of then', async () => {
      const program = await open()
      const { call, rules } = program
      await rules(`guardrails:
  - { id: asked, action: step_up, message: Ask first, conditions: [{ type: field, field: category, operator: "=", value: deployment }] }
  - id: merged
    action: block
    message: Not merged
    conditions: [{ type: field, field: category, operator: "=", value: release }]
    requires: [{ evidence: pr_merged }]
`)
      const check = (category: string, more: object) =>
        call('checkGuardrails', { action: { description: 'Ship', category, project: 'acme/shop', pr: 7 }, ...more })
      const start = later(program)
      const { approval } = await check('deployment', {})
      const asked = later(program)
      await call('decideApproval', { id: approval!.id, decision: 'approve' }, 'approver')
      await call(
        'ingestEvidence',
        {
          source: 'github',
          events: [{ event_type: 'pr_merged', ts: asked, payload: { repo: 'acme/shop', pr_number: 7 } }],
        },
        'root',
      )
      await program.services.thread.sequence()
      const granted = later(program)
      await check('deployment', {})
      const used = later(program)
      const then = async (as_of: string) => {
        const { verdict, approval, as_of: block } = await check('deployment', { dry_run: true, as_of })
        expect(block?.limits.map(({ limit }) => limit)).toEqual(['evidence_times'])
        return [verdict, approval?.state ?? null, (await check('release', { dry_run: true, as_of })).verdict]
      }
      expect(await then(start)).toEqual(['step_up', null, 'deny'])
      // Its event had happened, and nobody had reported it.
      expect(await then(asked)).toEqual(['step_up', 'pending', 'deny'])
      expect(await then(granted)).toEqual(['allow', 'consumed', 'allow'])
      expect(await then(used)).toEqual(['step_up', null, 'allow'])
    })
  })
})
