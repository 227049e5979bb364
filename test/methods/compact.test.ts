/** cstp.compact: counts what is shown shorter at which level, deletes nothing, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('counts levels and what is preserved, and deletes nothing', async () => {
    const program = await open()
    const ids = []
    for (const days of [1, 10, 40, 100]) ids.push(await decided(program, days))
    expect(await program.call('compact', {}, 'root')).toEqual({
      compacted: 3,
      shorter: 3,
      since: null,
      preserved: 0,
      levels: { full: 1, summary: 1, digest: 1, wisdom: 1 },
      dry_run: false,
    })
    await program.call('setPreserve', { decision_id: ids[3] }, 'root')
    expect(await program.call('compact', {}, 'root')).toMatchObject({ compacted: 0, shorter: 2, preserved: 1 })
    expect((await program.call('listDecisions')).total).toBe(4)
  })

  test('what became shorter is counted once, for all and for each category apart; a dry run counts it again', async () => {
    const program = await open()
    const first = new Date(program.clock.now).toISOString()
    await decided(program, 10)
    await decided(program, 1, { category: 'trading' })
    const compacted = async (given: object = {}) => {
      const { compacted, since } = await program.call('compact', given, 'root')
      return [compacted, since]
    }
    expect(await compacted({ dry_run: true })).toEqual([1, null])
    expect(await compacted()).toEqual([1, null])
    expect(await compacted()).toEqual([0, first])
    program.clock.now += 10 * 86_400_000
    const second = new Date(program.clock.now).toISOString()
    expect(await compacted({ dry_run: true })).toEqual([1, first])
    expect(await compacted()).toEqual([1, first])
    expect(await compacted()).toEqual([0, second])
    expect(await compacted({ category: 'trading' })).toEqual([1, null])
    expect(await compacted({ category: 'all' })).toEqual([0, null])
  })
})
