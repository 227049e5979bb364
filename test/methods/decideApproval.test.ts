/** cstp.decideApproval: the first answer wins, and nobody answers for themselves. */
import { expect, test } from 'bun:test'
import { askingRules, requested } from '../support/asking.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('a grant and a denial keep who, when and why', async () => {
    const program = await open()
    await program.rules(askingRules)
    const [one, other] = [await requested(program, 1), await requested(program, 2)]
    expect(
      await program.call('decideApproval', { id: one, decision: 'approve', reason: 'Budgeted' }, 'carol'),
    ).toMatchObject({ state: 'approved', decided_by: 'carol', reason: 'Budgeted' })
    expect(await program.call('decideApproval', { id: other, decision: 'deny' }, 'carol')).toMatchObject({
      state: 'denied',
      decided_by: 'carol',
      reason: null,
    })
    expect(await program.refused('decideApproval', { id: other, decision: 'approve' }, 'carol')).toMatchObject({
      code: -32602,
    })
    expect((await program.call('getApproval', { id: other })).state).toBe('denied')
  })

  test('it needs the scope approve, and never comes from the requester', async () => {
    const program = await open()
    await program.rules(askingRules)
    const id = await requested(program, 1)
    for (const agent of ['alice', 'bob'] as const)
      expect(await program.refused('decideApproval', { id, decision: 'approve' }, agent)).toMatchObject({
        code: -32001,
      })
    const own = await requested(program, 3, 'root')
    expect(await program.refused('decideApproval', { id: own, decision: 'approve' }, 'root')).toMatchObject({
      code: -32001,
    })
  })

  test('an expired request, an unknown id and another answer are refused', async () => {
    const program = await open()
    await program.rules(askingRules)
    const id = await requested(program, 1)
    expect(await program.refused('decideApproval', { id, decision: 'maybe' as never }, 'carol')).toMatchObject({
      code: -32602,
    })
    const unknown = { id: 'NONE-0000', decision: 'approve' as const }
    expect(await program.refused('decideApproval', unknown, 'carol')).toMatchObject({ code: -32602 })
    program.clock.now += 48 * 3_600_000
    expect(await program.refused('decideApproval', { id, decision: 'approve' }, 'carol')).toMatchObject({
      code: -32602,
    })
  })
})
