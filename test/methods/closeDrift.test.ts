/** cstp.closeDrift: a finding ends for its agent or category, and comes back only with a new fall. */
import { expect, test } from 'bun:test'
import { openMemoryProgram, type TestProgram } from '../support/program.ts'

/** Decisions on so many days, one a day, each reviewed at once. */
async function days(program: TestProgram, count: number, outcome: (day: number) => 'success' | 'failure') {
  for (let day = 0; day < count; day++) {
    program.clock.now += 86_400_000
    const id = await program.record({ category: 'release', confidence: 0.9 })
    await program.call('reviewDecision', { id, outcome: outcome(day) })
  }
}

test('a finding is closed for what is named, with its reason in the trail, and comes back only with a new fall', async () => {
  const program = await openMemoryProgram()
  const drifts = async (of: object) => (await program.call('checkDrift', of)).drift_detected
  await days(program, 60, () => 'success')
  await days(program, 15, () => 'failure')
  expect([await drifts({ category: 'release' }), await drifts({ agent: 'alice' })]).toEqual([true, true])
  const closed = await program.call('closeDrift', { category: 'release', reason: 'The registry was down' }, 'root')
  expect(closed).toMatchObject({ success: true, message: 'The finding for release is closed' })
  expect([await drifts({ category: 'release' }), await drifts({ agent: 'alice' })]).toEqual([false, true])
  expect((await program.call('ready')).actions).toEqual([])
  const again = await program.call('closeDrift', { category: 'release', reason: 'Once more' }, 'root')
  expect(again).toMatchObject({ success: false, since: null })
  const { entries } = await program.call('listAudit', { method: 'cstp.closeDrift' }, 'root')
  expect(entries.map(({ detail }) => detail)).toEqual([
    { category: 'release', since: null, reason: 'Once more' },
    { category: 'release', since: closed.since, reason: 'The registry was down' },
  ])
  // What it does now is its past from now on.
  await days(program, 60, (day) => (day % 2 === 0 ? 'success' : 'failure'))
  expect(await drifts({ category: 'release' })).toBe(false)
  await days(program, 15, () => 'failure')
  expect(await drifts({ category: 'release' })).toBe(true)
  await program.close()
})

test('no agent closes a finding about itself', async () => {
  const program = await openMemoryProgram()
  const { code, message } = await program.refused('closeDrift', { agent: 'root', reason: 'All is well' }, 'root')
  expect([code, message]).toEqual([-32001, expect.stringContaining('another curator')])
  await program.close()
})
