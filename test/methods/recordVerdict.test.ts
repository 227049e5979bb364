/** What recordDecision keeps of its verdict, and rules that count: none can be outrun by many records at once. */

import { expect, test } from 'bun:test'
import type { CstpError } from '../../sdk/errors.ts'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { forEachBackend } from '../support/program.ts'

const given = { decision: 'Pay the invoice', confidence: 0.9, category: 'payment' }
const twoAnHour = `
- id: two-an-hour
  message: Two payments an hour
  condition_category: payment
  conditions: [{ type: temporal, field: category, value: payment, window_hours: 1, max_occurrences: 2 }]
`

forEachBackend((open) => {
  test('of many records at once no more pass than a rule of two an hour allows', async () => {
    const program = await open()
    program.services.record_guardrails = 'block'
    await program.rules(twoAnHour)
    const many = Array.from({ length: 20 }, (_, at) =>
      program.call('recordDecision', { ...given, decision: `Pay invoice ${at}` }).then(
        () => 'recorded',
        () => 'refused',
      ),
    )
    expect((await Promise.all(many)).filter((one) => one === 'recorded')).toHaveLength(2)
    expect((await program.call('listDecisions')).total).toBe(2)
    program.clock.now += 3_600_001
    expect((await program.call('recordDecision', given)).success).toBe(true)
  })

  test('a rule that counts finds every spelling of category and tag, at the check and in the transaction', async () => {
    const program = await open()
    await program.rules(`${twoAnHour}
- id: two-risky
  message: Two risky ones an hour
  conditions: [{ type: temporal, field: tag, value: Risky, window_hours: 1, max_occurrences: 2 }]
- id: few-other
  message: Few others
  conditions: [{ type: aggregate, category: Other, metric: count, operator: ">=", value: 2, window_days: 1 }]
`)
    program.services.record_guardrails = 'block'
    const spelled = ['Payment', 'p\u0430yment', 'PAYMENT', 'pay\u200bment', '\uff50ayment', 'pAyment']
    const many = spelled.map((category, at) =>
      program.call('recordDecision', { ...given, decision: `Pay invoice ${at}`, category }).then(
        () => 'recorded',
        (error: CstpError) => error.error,
      ),
    )
    expect((await Promise.all(many)).toSorted()).toEqual(
      [...Array(2).fill('recorded'), ...Array(4).fill('record_failed')].toSorted(),
    )
    const check = (action: object) => program.call('checkGuardrails', { action: { description: 'Pay', ...action } })
    expect((await check({ category: 'payment' })).violations.map((one) => one.guardrail_id)).toEqual(['two-an-hour'])
    program.clock.now += 3_600_001
    for (const [at, tag] of ['risky', 'RISKY', 'r\u0456sky'].entries()) {
      const record = { ...given, decision: `Try ${at}`, category: ['OTHER', 'other', 'x'][at], tags: [tag, 'more'] }
      if (at < 2) await program.call('recordDecision', record)
      else expect((await program.refused('recordDecision', record)).message).toBe('Blocked by two-risky, few-other')
    }
  })

  test('of records on two servers at once no more pass than a rule of two an hour allows', async () => {
    const one = await open()
    const two = await one.second()
    for (const server of [one, two]) {
      server.services.record_guardrails = 'block'
      await server.rules(twoAnHour)
    }
    const many = Array.from({ length: 12 }, (_, at) =>
      (at % 2 === 0 ? one : two).call('recordDecision', { ...given, decision: `Pay invoice ${at}` }).then(
        () => 'recorded',
        (error: CstpError) => error.error,
      ),
    )
    const found = await Promise.all(many)
    expect(found.toSorted()).toEqual([...Array(2).fill('recorded'), ...Array(10).fill('record_failed')].toSorted())
    for (const server of [one, two])
      expect((await server.store.decisions.walk({}, null, 20)).map(({ category }) => category)).toEqual([
        'payment',
        'payment',
      ])
    // What the other server recorded is counted, not only what this one did.
    one.clock.now += 3_600_001
    expect((await two.call('recordDecision', given)).success).toBe(true)
    expect((await one.call('recordDecision', given)).success).toBe(true)
    expect((await two.refused('recordDecision', given)).message).toContain('two-an-hour')
    expect((await one.refused('recordDecision', given)).message).toContain('two-an-hour')
  })

  test('the record keeps the verdict that it passed, also where it only warns', async () => {
    const program = await open()
    program.services.record_guardrails = 'warn'
    await program.rules('- { id: never, message: m, condition_category: payment }')
    const { decision_id: id } = await program.call('recordDecision', given)
    const decision = (await readDecision(program.store.decisions, id))?.record
    expect(decision!.verdict).toEqual({
      allowed: false,
      verdict: 'deny',
      rules: ['never'],
      policy_hash: (await program.services.policy.current()).hash,
      record_id: expect.stringMatching(/^2026-07-01-evaluation-/),
    })
    const { entries } = await program.call('listAudit', { rule: 'never' }, 'root')
    expect(entries[0]).toMatchObject({ ids: [id], detail: { record_id: decision!.verdict!.record_id } })
  })

  test('rules see action_context as the context of the record', async () => {
    const program = await open()
    program.services.record_guardrails = 'block'
    await program.rules('- { id: large, message: m, condition_context.amount: "> 5000" }')
    await program.refused('recordDecision', { ...given, action_context: { amount: 6000 } })
    await program.refused('recordDecision', given)
    expect((await program.call('recordDecision', { ...given, action_context: { amount: 5 } })).success).toBe(true)
  })

  test('a replayed key answers with the first result and the verdict of today', async () => {
    const program = await open()
    await program.rules('- { id: idle, action: warn, message: m, condition_category: other }')
    const action = { description: 'Pay the invoice', category: 'payment', confidence: 0.9, context: { amount: 7 } }
    const first = await program.call('preAction', { action, idempotency_key: 'k' })
    const decision = (await readDecision(program.store.decisions, first.decision_id!))?.record
    expect(decision!.context).toBe('{"amount":7}')
    await program.rules('- { id: never, message: m, condition_category: payment }')
    const again = await program.call('preAction', { action, idempotency_key: 'k' })
    expect(again).toMatchObject({
      allowed: true,
      replayed: true,
      decision_id: first.decision_id,
      present: { allowed: false, verdict: 'deny', violations: [{ guardrail_id: 'never' }] },
    })
  })

  test('a replayed record answers with the first result and the verdict of today, which the trail keeps as a look', async () => {
    const program = await open()
    const keyed = { ...given, idempotency_key: 'k', action_context: { amount: 7 }, scope: 'shop' }
    const first = await program.call('recordDecision', keyed)
    expect(first).not.toHaveProperty('present')
    await program.rules('- { id: never, scope: shop, action: step_up, message: m, condition_context.amount: "> 5" }')
    for (const mode of ['warn', 'block'] as const) {
      program.services.record_guardrails = mode
      const again = await program.call('recordDecision', keyed)
      expect(again).toMatchObject({
        ...first,
        replayed: true,
        present: { allowed: false, verdict: 'step_up', violations: [{ guardrail_id: 'never' }] },
      })
      const [entry] = (await program.call('listAudit', { limit: 1 }, 'root')).entries
      expect(entry).toMatchObject({
        ids: [first.decision_id],
        allowed: false,
        detail: { dry_run: true, record_id: again.present!.record_id },
      })
    }
    expect((await program.call('listApprovals', {}, 'carol')).total).toBe(0)
    // Where records ask no rules there is no verdict.
    program.services.record_guardrails = 'off'
    expect(await program.call('recordDecision', keyed)).not.toHaveProperty('present')
    expect((await program.call('listDecisions')).total).toBe(1)
  })

  test('an action that rules change is recorded as it was allowed; its verdict keeps what was asked for', async () => {
    for (const mode of ['off', 'warn', 'block'] as const) {
      const program = await open()
      program.services.record_guardrails = mode
      await program.rules(`
- id: plan-first
  action: modify
  message: Plans only
  condition_category: deployment
  modify:
    set: { description: Plan the deployment, category: planning, project: acme/plans, context.command: terraform plan }
    remove: [tags, context.auto_approve]
`)
      const action = {
        description: 'Deploy',
        category: 'deployment',
        confidence: 0.9,
        context: { command: 'terraform apply', auto_approve: true },
      }
      const project = { name: 'acme/app', feature: 'checkout', pr: 7 }
      const answer = await program.call('preAction', { action, tags: ['now'], project })
      expect(answer).toMatchObject({ allowed: true, verdict: 'modify' })
      const decision = (await readDecision(program.store.decisions, answer.decision_id!))!.record
      expect(decision).toMatchObject({
        decision: 'Plan the deployment',
        category: 'planning',
        stakes: 'medium',
        confidence: 0.9,
        tags: [],
        context: '{"command":"terraform plan"}',
        project: { name: 'acme/plans', feature: 'checkout', pr: 7 },
        verdict: {
          allowed: true,
          verdict: 'modify',
          rules: ['plan-first'],
          original: { ...action, tags: ['now'], project: 'acme/app', pr: 7 },
        },
      })
      expect(decision.breaker_scopes).toContain('category:planning')
    }
  })
})
