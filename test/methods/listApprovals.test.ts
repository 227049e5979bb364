/** cstp.listApprovals: own requests, or all of them, by state and page. */
import { expect, test } from 'bun:test'
import { askingRules, requested } from '../support/asking.ts'
import { decided } from '../support/decided.ts'
import { type As, forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('an agent sees its own, an approver all, the newest first', async () => {
    const program = await open()
    await program.rules(askingRules)
    const first = await requested(program, 1)
    program.clock.now += 1_000
    const second = await requested(program, 2, 'bob')
    const ids = async (params: object, agent?: As) => {
      const { approvals, total } = await program.call('listApprovals', params, agent)
      return [approvals.map(({ id }) => id), total]
    }
    expect(await ids({})).toEqual([[first], 1])
    expect(await ids({}, 'bob')).toEqual([[second], 1])
    expect(await ids({}, 'carol')).toEqual([[second, first], 2])
    expect(await ids({ limit: 1, offset: 1 }, 'carol')).toEqual([[first], 2])
    await program.call('decideApproval', { id: first, decision: 'deny' }, 'carol')
    expect(await ids({ state: 'denied' }, 'carol')).toEqual([[first], 1])
    expect(await ids({ state: 'pending' }, 'carol')).toEqual([[second], 1])
    program.clock.now += 48 * 3_600_000
    expect(await ids({ state: 'expired' }, 'carol')).toEqual([[second], 1])
    expect(await ids({ state: 'pending' }, 'carol')).toEqual([[], 0])
  })

  test('the record of the requester at the stakes of its action is what getCalibration answers', async () => {
    const program = await open()
    await program.rules('- { id: pay, action: step_up, message: Ask, condition_category: payment }')
    for (let at = 0; at < 30; at++)
      for (const stakes of ['critical', 'low'])
        await decided(
          program,
          10,
          { confidence: 0.9, stakes, recorded_by: 'alice' },
          at % 3 === 0 || stakes === 'low' ? 'success' : 'failure',
        )
    for (const at of ['low', 'critical'] as const) {
      const given = { description: `Pay at ${at}`, category: 'payment', stakes: at, confidence: 0.9 }
      const asked = (await program.call('checkGuardrails', { action: given })).approval!.id
      const { overall, verdict } = await program.call('getCalibration', { agent: 'alice', stakes: at, window: 'all' })
      const record = { stakes: at, overall, verdict }
      expect((await program.call('getApproval', { id: asked })).agent_record).toEqual(record)
      const { approvals } = await program.call('listApprovals', { state: 'pending' })
      expect(approvals.find((one) => one.id === asked)!.agent_record).toEqual(record)
      if (at === 'critical') expect(verdict.interpretation).toBe('overconfident')
    }
  })
})
