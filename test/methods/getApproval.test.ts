/** cstp.getApproval: one request, for its requester and for approvers. */
import { expect, test } from 'bun:test'
import { askingRules, requested } from '../support/asking.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('its requester and approvers see it; for others it does not exist', async () => {
    const program = await open()
    await program.rules(askingRules)
    const id = await requested(program, 5)
    const own = await program.call('getApproval', { id })
    expect(own).toMatchObject({
      id,
      state: 'pending',
      requester: 'alice',
      decided_by: null,
      rules: [{ guardrail_id: 'pay' }],
      action: { description: 'Pay 5', context: { amount: 5 } },
    })
    expect(await program.call('getApproval', { id }, 'carol')).toEqual(own)
    expect(await program.refused('getApproval', { id }, 'bob')).toMatchObject({ code: -32602 })
  })
})
