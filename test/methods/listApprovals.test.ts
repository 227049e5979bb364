/** cstp.listApprovals: own requests, or all of them, by state and page. */
import { expect, test } from 'bun:test'
import { askingRules, requested } from '../support/asking.ts'
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
})
