/** cstp.unlinkDecisions: an edge belongs to who made it, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('removes the own edge of a triple, and leaves the others', async () => {
    const { call, record, store } = await open()
    const [source_id, target_id] = [await record(), await record()]
    const link = { source_id, target_id, edge_type: 'refines' }
    for (const as of ['alice', 'bob'] as const) await call('linkDecisions', link, as)
    await call('linkDecisions', { ...link, edge_type: 'blocks' })
    expect(await call('unlinkDecisions', { ...link, source_id: source_id.slice(-12) })).toEqual({ removed: true })
    const edges = await store.edges.of([source_id], { direction: 'both', limit: 10 })
    expect(edges.map(({ edge_type, created_by }) => [edge_type, created_by])).toEqual([
      ['blocks', 'alice'],
      ['refines', 'bob'],
    ])
    expect((await store.audit.list({ limit: 1 }))[0]).toMatchObject({
      method: 'cstp.unlinkDecisions',
      agent: 'alice',
      ids: [source_id, target_id],
      detail: { edge_type: 'refines', removed: true, created_by: ['alice'] },
    })
  })

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

  test('what can’t be', async () => {
    const { refused, record } = await open()
    const link = { source_id: await record(), target_id: await record(), edge_type: 'refines' }
    for (const given of [{ edge_type: 'likes' }, { source_id: undefined }, { weight: 1 }])
      expect((await refused('unlinkDecisions', { ...link, ...given })).error).toBe('invalid_params')
    const target_id = '2020-01-01-decision-000000000000'
    // A full id that no record has may still be the target of an edge: there is none to remove.
    expect((await refused('unlinkDecisions', { ...link, source_id: target_id })).error).toBe('decision_not_found')
  })
})
