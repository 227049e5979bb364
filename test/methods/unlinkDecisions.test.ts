/** cstp.unlinkDecisions: an edge belongs to who made it, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('an edge of another agent is for curators and administrators', async () => {
    const { call, refused, record } = await open()
    const link = { source_id: await record(), target_id: await record(), edge_type: 'refines' }
    expect(await call('unlinkDecisions', link)).toEqual({ removed: false })
    for (const as of ['curator', 'root'] as const) {
      await call('linkDecisions', link)
      expect((await refused('unlinkDecisions', link, 'bob')).code).toBe(-32001)
      expect((await call('getDecision', { id: link.source_id })).links).toHaveLength(1)
      expect(await call('unlinkDecisions', link, as)).toEqual({ removed: true })
      expect((await call('getDecision', { id: link.source_id })).links).toEqual([])
    }
  })

  test('an automatic contradiction is dismissed by who recorded both, or a curator, and is not found again', async () => {
    const { call, refused, record, store } = await open()
    const given = {
      bridge: { structure: 'a queue', function: 'to keep orders when the shop is down' },
      project: { name: 'acme/shop' },
    }
    const contradictions = async () => (await call('getSessionContext')).contradictions!.map((one) => one.second_id)
    const review = (id: string, outcome: string, as: 'alice' | 'bob' = 'alice') =>
      call('reviewDecision', { id, outcome }, as)
    const good = await record({ ...given, decision: 'Queue orders in Redis' })
    const [bad, others] = [
      await record({ ...given, decision: 'Queue orders in a table' }),
      await record({ ...given, decision: 'Queue orders in memory' }, 'bob'),
    ]
    await review(good, 'success')
    await review(bad, 'failure')
    expect(await contradictions()).toEqual([good])
    const link = { source_id: good, target_id: bad, edge_type: 'contradicts', reason: 'Redis was for another shop' }
    expect((await refused('unlinkDecisions', link, 'bob')).code).toBe(-32001)
    // Whichever way it was linked.
    expect(await call('unlinkDecisions', link)).toEqual({ removed: true })
    expect(await call('unlinkDecisions', link)).toEqual({ removed: false })
    expect(await contradictions()).toEqual([])
    const kept = { by: 'alice', at: '2026-07-01T12:00:00.000Z', reason: link.reason }
    expect((await call('getDecision', { id: bad })).links).toMatchObject([
      { target_id: good, edge_type: 'contradicts', created_by: 'auto-link', effective: false, dismissed: kept },
    ])
    expect((await store.audit.list({ limit: 1 }))[0]!.detail).toMatchObject({ removed: false, reason: link.reason })
    // Either end is reviewed again.
    await review(bad, 'failure', 'bob')
    await review(good, 'success', 'bob')
    expect(await contradictions()).toEqual([])

    // One that another agent recorded is for curators.
    await review(others, 'failure', 'bob')
    expect(await contradictions()).toEqual([good])
    const theirs = { ...link, target_id: others }
    for (const as of ['alice', 'bob'] as const)
      expect((await refused('unlinkDecisions', theirs, as)).message).toContain('found automatically')
    expect(await call('unlinkDecisions', theirs, 'curator')).toEqual({ removed: true })
    expect(await contradictions()).toEqual([])
  })
})
