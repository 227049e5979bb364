/** cstp.setPreserve: keeps a decision at full detail until it is released, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('a preserved decision stays at full detail until it is released', async () => {
    const program = await open()
    const id = await program.record()
    await program.call('reviewDecision', { id, outcome: 'success' })
    program.clock.now += 1_000 * 86_400_000
    const level = async () => (await program.call('getCompacted')).decisions[0]!.level
    expect(await level()).toBe('wisdom')
    expect(await program.call('setPreserve', { decision_id: id }, 'root')).toEqual({
      success: true,
      decision_id: id,
      preserve: true,
    })
    expect(await level()).toBe('full')
    await program.call('setPreserve', { decision_id: id, preserve: false }, 'root')
    expect(await level()).toBe('wisdom')
    const { entries } = await program.call('listAudit', { method: 'cstp.setPreserve' }, 'root')
    expect(entries.map(({ ids, detail }) => [ids, detail])).toEqual([
      [[id], { preserve: false }],
      [[id], { preserve: true }],
    ])
  })

  test('takes the beginning of an id, and leaves the rest of the record', async () => {
    const { call, record } = await open()
    const id = await record()
    const before = await call('getDecision', { id })
    expect(await call('setPreserve', { id: id.slice(0, -3) }, 'root')).toMatchObject({ decision_id: id })
    expect(await call('getDecision', { id })).toEqual({ ...before, preserve: true, updated_at: expect.any(String) })
  })

  test('is for the agent that recorded it, and curators', async () => {
    const { call, refused, record } = await open()
    const decision_id = await record()
    expect((await refused('setPreserve', { decision_id }, 'bob')).error).toBe('forbidden')
    for (const as of ['alice', 'curator'] as const)
      expect((await call('setPreserve', { decision_id }, as)).preserve).toBe(true)
  })
})
