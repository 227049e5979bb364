/** One agent over four months of simulated time, over HTTP: it asks, thinks, records, is reviewed, drifts, is told, is stopped, goes on. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createDispatch } from '../../src/calls/dispatch.ts'
import { methods } from '../../src/methods/table.ts'
import { forEachBackend, type MethodName, type Result } from '../support/program.ts'
import { post, rpc, serviceOf, tokens } from '../surfaces/http/service.ts'

const day = 86_400_000
const shipped = await Bun.file(join(import.meta.dir, '../../guardrails/default.yaml')).text()
const bearer = (as: keyof typeof tokens) => ({ authorization: `Bearer ${tokens[as]}` })
const rules = `${shipped}
  - { scope: "agent:bob", failure_threshold: 3, window_ms: ${5 * day}, cooldown_ms: ${day} }
`

forEachBackend((open) => {
  test('the learning loop', async () => {
    const { services, clock, rules: enforce } = await open()
    await enforce(rules)
    services.record_guardrails = 'block'
    const service = serviceOf({
      dispatch: createDispatch(methods, services, () => {}, { verify_results: true }),
      requests: { take: () => 0 },
    })
    /** The whole answer; bob calls unless it says otherwise. */
    const answer = async (method: MethodName, params: object = {}, as: keyof typeof tokens = 'bob') =>
      (await (await service.fetch(post(rpc(`cstp.${method}`, params), bearer(as)), '127.0.0.1')).json()) as {
        result?: unknown
        error?: { code: number; data?: { violations?: { guardrail_id: string }[] } }
      }
    const call = async <N extends MethodName>(
      method: N,
      params = {},
      as: keyof typeof tokens = 'bob',
    ): Promise<Result<N>> => {
      const { result, error } = await answer(method, params, as)
      expect(error).toBeUndefined()
      return result as Result<N>
    }
    // A deployment that doesn't say where counts as one to production, and that takes evidence of a review.
    const context = { environment: 'staging' }
    const decision = {
      decision: 'Deploy the shop on Friday',
      category: 'deployment',
      confidence: 0.85,
      action_context: context,
    }
    const action = { description: decision.decision, category: 'deployment', confidence: 0.85, context }

    /** Asks, checks, thinks and records, as a careful agent does. */
    async function decide(number: number): Promise<string> {
      await call('queryDecisions', { query: 'deploy the shop', retrieval_mode: 'hybrid' })
      expect((await call('checkGuardrails', { action })).allowed).toBe(true)
      await call('recordThought', { text: `Deployment ${number}: the tests are green` })
      const { decision_id, ...recorded } = await call('recordDecision', { ...decision, stakes: 'high' })
      expect(recorded).toMatchObject({
        deliberation_auto: true,
        deliberation_inputs_count: 2,
        related_count: Math.min(10, number),
      })
      // After the first failure the rule on similar decisions speaks; what was looked at keeps the other silent.
      expect(recorded.guardrail_warnings.map(({ guardrail_id }) => guardrail_id)).not.toContain(
        'recorded-without-precedents',
      )
      return decision_id
    }
    const review = (decision_id: string, outcome: string, by: keyof typeof tokens = 'bob') =>
      call(
        'reviewDecision',
        { decision_id, outcome, lessons: outcome === 'failure' ? 'The cache was cold' : undefined },
        by,
      )
    const todo = async () => (await call('ready', { agent: 'bob' })).actions.map(({ type }) => type)
    const breaker = async () => (await call('getCircuitState', { scope: 'agent:bob' })).state

    // The first day: nothing is known, and a record without a look at precedents is told so.
    expect(await todo()).toEqual([])
    const hasty = await call('recordDecision', { ...decision, stakes: 'high' })
    expect(hasty.guardrail_warnings.map(({ guardrail_id }) => guardrail_id)).toEqual(['recorded-without-precedents'])
    await call('reviewDecision', { id: hasty.decision_id, outcome: 'abandoned' })

    // A good month: 17 of 20 succeed at 0.85.
    for (let number = 1; number <= 20; number++) {
      const id = await decide(number)
      clock.now += day
      await review(id, number % 7 === 3 ? 'failure' : 'success')
    }
    expect((await call('getCalibration')).overall).toMatchObject({
      scored: 20,
      accuracy: 0.85,
      calibration_gap: 0,
      interpretation: 'well_calibrated',
    })
    expect((await call('checkDrift')).recommendations[0]).toContain('Not enough')

    // A decision that nobody looks at again is asked about.
    const forgotten = await call('recordDecision', { ...decision, category: 'process', review_in: '7d' })
    clock.now += 9 * day
    expect(await todo()).toEqual(['review_outcome'])
    clock.now += 30 * day
    expect(await todo()).toEqual(['stale_pending'])
    await review(forgotten.decision_id, 'abandoned')
    expect(await todo()).toEqual([])

    // Three months after the good one, the world has changed: three failures in a row stop the agent.
    clock.now += 55 * day
    for (let number = 1; number <= 3; number++) await review(await decide(20 + number), 'failure')
    expect(await breaker()).toBe('open')
    expect((await call('checkGuardrails', { action })).violations).toMatchObject([
      { guardrail_id: 'circuit_breaker:agent:bob' },
    ])
    const refused = await answer('recordDecision', decision)
    expect(refused.error?.code).toBe(-32005)
    expect(refused.error?.data?.violations?.[0]?.guardrail_id).toBe('circuit_breaker:agent:bob')
    expect(await todo()).toContain('open_breaker')

    // A day later one probe is let through; it fails, and the pause begins anew.
    clock.now += day
    await call('recordThought', { text: 'Why did it fail?' })
    const probe = await call('recordDecision', { ...decision, confidence: 0.8 })
    const { deliberation } = await call('getDecision', { id: probe.decision_id })
    expect(deliberation!.steps.map(({ thought }) => thought)).toEqual(['Why did it fail?'])
    expect((await answer('recordDecision', decision)).error?.code).toBe(-32005)
    await review(probe.decision_id, 'failure')
    expect(await breaker()).toBe('open')

    // The agent is told: its calibration drifted, in numbers, and what to do.
    const { alerts } = await call('checkDrift', { category: 'deployment' })
    expect(alerts.map(({ type }) => type)).toEqual([])
    clock.now += day
    const second = await call('recordDecision', { ...decision, confidence: 0.8 })
    // Its own word doesn't close the breaker; somebody else's does.
    await review(second.decision_id, 'success')
    expect(await breaker()).toBe('half_open')
    await review(second.decision_id, 'success', 'alice')
    expect(await breaker()).toBe('closed')
    const drift = await call('checkDrift', { category: 'deployment' })
    expect(drift).toMatchObject({ drift_detected: true, recent_scored: 5, historical_scored: 20 })
    expect(drift.alerts.map(({ type }) => type)).toEqual(['brier_degradation', 'accuracy_drop'])
    for (const { p_value, severity } of drift.alerts) {
      expect(p_value).toBeLessThan(0.05)
      expect(severity).toBe('critical')
    }
    expect((await call('ready', { agent: 'bob' })).actions).toMatchObject([
      { type: 'calibration_drift', priority: 'high', category: 'deployment' },
    ])
    const { markdown } = await call('getSessionContext', {
      format: 'markdown',
      task_description: 'Deploy the shop',
      token_budget: 1_500,
    })
    expect(markdown).toContain('Accuracy went from 85 % to 20 %')
    expect(markdown).toContain('deployment: success 72 %, between 34 points overconfident and 3 underconfident (95 %)')
    expect(markdown).toContain('"The cache was cold"')
    expect(markdown).not.toContain('agent:bob')
    const { calibration_context } = await call('preAction', { action, options: { auto_record: false } })
    expect(calibration_context).toMatchObject({ reviewed_decisions: 26, interpretation: 'overconfident' })
    // The drift is proven; that all of them together are overconfident is not yet.
    expect([calibration_context.gap_high! > 0, calibration_context.suggestion]).toEqual([true, null])
    expect((await call('checkGuardrails', { action })).allowed).toBe(true)
  }, 120_000)
})
