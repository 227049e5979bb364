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
  test('a check is refused with the way to its approval; the retry passes, once', async () => {
    const program = await open()
    await program.rules(rules)
    const first = await program.call('checkGuardrails', { action, agent: { id: 'erin' } })
    const { id } = first.approval!
    const url = `http://cstp.test/dashboard/approvals/${id}`
    expect(first).toMatchObject({ allowed: false, verdict: 'step_up', approval: { url, state: 'pending' } })
    expect(first.violations[0]!.message).toBe(
      `Payments need a person (approval ${id} requested: ${url}; try again once it is granted)`,
    )
    expect(await program.call('checkGuardrails', { action })).toMatchObject({ allowed: false, approval: { id } })
    const shown = await program.call('getApproval', { id }, 'carol')
    expect(shown).toMatchObject({
      requester: 'alice',
      on_behalf_of: 'erin',
      evaluation_id: first.record_id,
      policy_hash: first.policy_hash,
      action: { description: 'Pay the invoice', context: { amount: 5 } },
      rules: [{ guardrail_id: 'pay' }],
    })
    expect(JSON.parse(shown.rules[0]!.text)).toMatchObject({ id: 'pay', action: 'step_up' })
    await approve(program, id)
    // A dry run uses nothing up, and asks for nothing.
    expect(await program.call('checkGuardrails', { action, dry_run: true })).toMatchObject({ allowed: true })
    const other = { ...action, context: { amount: 6 } }
    expect(await program.call('checkGuardrails', { action: other, dry_run: true })).toMatchObject({
      allowed: false,
      approval: null,
    })
    expect(await program.call('checkGuardrails', { action: other })).toMatchObject({ allowed: false })
    expect(await program.call('checkGuardrails', { action }, 'bob')).toMatchObject({ allowed: false })
    const restarted = await program.second()
    await restarted.rules(rules)
    expect(await restarted.call('checkGuardrails', { action })).toMatchObject({
      allowed: true,
      verdict: 'allow',
      violations: [],
      approval: { id, state: 'consumed' },
    })
    expect(await program.call('checkGuardrails', { action })).toMatchObject({ allowed: false })
  })

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

  test('of two actions at once with one grant, on two servers, one is recorded and the other asks again', async () => {
    const one = await open()
    const two = await one.second()
    for (const server of [one, two]) await server.rules(rules)
    const { approval } = await one.call('preAction', { action })
    await approve(one, approval!.id)
    const answers = await Promise.all([one, two, one, two].map((server) => server.call('preAction', { action })))
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1)
    expect((await one.call('listDecisions')).total).toBe(1)
    const waiting = new Set(answers.filter(({ allowed }) => !allowed).map((answer) => answer.approval?.id))
    expect(waiting).toEqual(new Set([expect.any(String)]))
    expect(waiting.has(approval!.id)).toBe(false)
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

  test('every approval that a rule requires is needed, by the one it names', async () => {
    const program = await open()
    await program.rules(`
- id: release
  message: Both must agree
  condition_category: payment
  requires: [{ approval: release-managers }, { approval: approver }]
`)
    const first = await program.call('checkGuardrails', { action })
    expect(first.verdict).toBe('step_up')
    const { approvals } = await program.call('listApprovals', { state: 'pending' }, 'carol')
    expect(approvals.map(({ approvers }) => approvers[0]).sort()).toEqual(['approver', 'release-managers'])
    for (const { id, approvers } of approvals) {
      const [right, wrong] =
        approvers[0] === 'approver' ? (['approver', 'carol'] as const) : (['carol', 'approver'] as const)
      expect((await program.refused('decideApproval', { id, decision: 'approve' }, wrong)).code).toBe(-32001)
      await program.call('decideApproval', { id, decision: 'approve' }, right)
    }
    expect(await program.call('checkGuardrails', { action })).toMatchObject({ allowed: true })
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
