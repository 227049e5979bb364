/** Rules that ask a person: on checks, preAction and records, with exact matching, over stores and servers. */
import { expect, test } from 'bun:test'
import type { Store } from '../../sdk/storage/store.ts'
import { createDispatch } from '../../src/calls/dispatch.ts'
import { methods } from '../../src/methods/table.ts'
import { callers, forEachBackend, type TestProgram } from '../support/program.ts'

const rules = `
- id: pay
  action: step_up
  message: Payments need a person
  condition_category: payment
`
const action = {
  description: 'Pay the invoice',
  category: 'payment',
  stakes: 'high',
  confidence: 0.9,
  context: { amount: 5 },
}
/** A store that fails as it writes a decision, after whatever its transaction did before. */
const failing = (store: Store): Store =>
  Object.assign(Object.create(store) as Store, {
    transaction: <T>(work: Parameters<typeof store.transaction<T>>[0]) =>
      store.transaction<T>((tx) => {
        const put = () => Promise.reject(new Error('the process ended'))
        return work({ ...tx, decisions: { ...tx.decisions, put } })
      }),
  })
const approve = (program: TestProgram, id: string) =>
  program.call('decideApproval', { id, decision: 'approve' }, 'carol')

forEachBackend((open) => {
  test('a policy that changed asks again, or denies; a rule beside it changes nothing', async () => {
    const program = await open()
    await program.rules(rules)
    const granted = async () => {
      const { approval } = await program.call('checkGuardrails', { action })
      await approve(program, approval!.id)
      return approval!.id
    }
    const id = await granted()
    await program.rules(rules.replace('need a person', 'need two persons'))
    const asked = await program.call('checkGuardrails', { action })
    expect([asked.allowed, asked.approval?.state, asked.approval?.id === id]).toEqual([false, 'pending', false])
    await program.rules(`${rules}\n- { id: no, action: block, condition_category: payment, message: Never }`)
    expect(await program.call('checkGuardrails', { action })).toMatchObject({ allowed: false, verdict: 'deny' })
    await program.rules(`${rules}\n- { id: beside, action: warn, condition_category: other, message: m }`)
    expect(await program.call('checkGuardrails', { action })).toMatchObject({ allowed: true, approval: { id } })
  })

  test('preAction records after the grant only, once, whatever the mode of records', async () => {
    const program = await open()
    await program.rules(rules)
    for (const mode of ['warn', 'block'] as const) {
      program.services.record_guardrails = mode
      const given = { action: { ...action, context: { mode } }, idempotency_key: mode }
      const first = await program.call('preAction', given)
      expect(first).toMatchObject({ allowed: false, decision_id: null, approval: { state: 'pending' } })
      await approve(program, first.approval!.id)
      const second = await program.call('preAction', given)
      expect(second).toMatchObject({ allowed: true, approval: { id: first.approval!.id, state: 'consumed' } })
      expect(second.decision_id).toBeString()
    }
    expect((await program.call('listApprovals', {}, 'carol')).total).toBe(2)
  })

  test('a grant is used with the record: what fails in between, or is refused there, leaves it', async () => {
    const program = await open()
    const given = { action }
    for (const mode of ['warn', 'block'] as const) {
      program.services.record_guardrails = mode
      await program.rules(rules)
      const { approval } = await program.call('preAction', given)
      const id = approval!.id
      await approve(program, id)
      const broken = createDispatch(methods, { ...program.services, store: failing(program.store) }, () => {})
      const request = { method: 'cstp.preAction', params: given, caller: callers.alice, request_id: 'f' }
      expect(await broken({ ...request, signal: AbortSignal.timeout(60_000) }).catch(({ error }) => error)).toBe(
        'internal_error',
      )
      expect((await program.call('getApproval', { id })).state).toBe('approved')
      if (mode === 'block') {
        await program.rules(`${rules}\n- { id: thin, message: m, condition_phase: record }`)
        expect(await program.call('preAction', given)).toMatchObject({ allowed: false, decision_id: null })
        expect((await program.call('getApproval', { id })).state).toBe('approved')
        await program.rules(rules)
      }
      const done = await program.call('preAction', given)
      expect([done.allowed, done.approval?.id, done.decision_id]).toEqual([true, id, expect.any(String)])
      expect((await program.call('getApproval', { id })).state).toBe('consumed')
    }
  })

  test('a record waits for its approval where rules block, and asks for none where they warn', async () => {
    const program = await open()
    await program.rules(rules)
    const record = { decision: 'Pay it', category: 'payment', confidence: 0.8 }
    await program.call('recordDecision', record)
    expect((await program.call('listApprovals', {}, 'carol')).total).toBe(0)
    program.services.record_guardrails = 'block'
    const refused = await program.refused('recordDecision', record)
    const { id, state } = refused.data!.approval as { id: string; state: string }
    expect([refused.code, state]).toEqual([-32005, 'pending'])
    await approve(program, id)
    await program.call('recordDecision', record)
    expect((await program.refused('recordDecision', record)).code).toBe(-32005)
  })
})

forEachBackend((open) => {
  test('a rule that asks for records only answers through preAction too', async () => {
    const program = await open()
    program.services.record_guardrails = 'block'
    await program.rules('- { id: keep, action: step_up, message: Ask, condition_phase: record }')
    const first = await program.call('preAction', { action, agent_id: 'erin' })
    expect(first).toMatchObject({
      allowed: false,
      verdict: 'step_up',
      decision_id: null,
      approval: { state: 'pending' },
    })
    const { id } = first.approval!
    expect(await program.call('getApproval', { id })).toMatchObject({ on_behalf_of: 'erin' })
    await approve(program, id)
    expect((await program.call('preAction', { action, agent_id: 'erin' })).decision_id).toBeString()
  })
})
