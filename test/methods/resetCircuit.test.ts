/** cstp.resetCircuit: an administrator closes a breaker or lets one decision try, on every store. */
import { expect, test } from 'bun:test'
import { check, deploy, fail, rules, scope, state } from '../support/breakers.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('closes a breaker, or lets one decision try first', async () => {
    const program = await open()
    await program.rules(rules)
    const reset = (probe_first = false, reason?: string) =>
      program.call('resetCircuit', { scope, probe_first, reason }, 'root')
    expect(await reset()).toMatchObject({ success: false, previous_state: 'closed', new_state: 'closed' })
    await fail(program)
    expect((await program.refused('resetCircuit', { scope }, 'alice')).error).toBe('forbidden')
    expect(await reset(true)).toMatchObject({ success: true, previous_state: 'open', new_state: 'half_open' })
    const probe = await program.record(deploy)
    expect((await state(program)).probe_decision_id).toBe(probe)
    expect(await reset()).toMatchObject({ success: true, previous_state: 'half_open', new_state: 'closed' })
    program.clock.now += 1_000
    await fail(program)
    const opened_by = (await state(program)).opened_by.map(({ decision_id }) => decision_id)
    const failures = await program.call('listDecisions', { outcome: 'failure', limit: 2 })
    expect(opened_by.toSorted()).toEqual(failures.decisions.map(({ id }) => id).toSorted())
    const reason = 'The cause is fixed'
    expect(await reset(false, reason)).toMatchObject({ success: true, previous_state: 'open', new_state: 'closed' })
    expect((await state(program)).opened_by).toEqual([])
    expect((await check(program)).allowed).toBe(true)
    const { entries } = await program.call('listAudit', { method: 'cstp.resetCircuit' }, 'root')
    expect(entries[0]!.detail).toEqual({ scope, previous_state: 'open', new_state: 'closed', reason })
    const unknown = await program.refused('resetCircuit', { scope: 'category:x' }, 'root')
    expect(JSON.stringify(unknown.data)).toContain('one of category:deploy')
  })
})
