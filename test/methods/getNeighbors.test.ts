/** cstp.getNeighbors: the direct links of a decision, strongest first, on every store. */
import { expect, test } from 'bun:test'
import { linked } from '../support/linked.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('neighbours: strongest first, seen from the decision, paged by the limit', async () => {
    const program = await open()
    const ids = await linked(program, 'a>b', 'c>a')
    await program.call('linkDecisions', { source_id: ids.a, target_id: ids.c, edge_type: 'refines', weight: 0.5 })
    const { neighbors, total, decision_id } = await program.call('getNeighbors', { decision_id: ids.a })
    expect([decision_id, total]).toEqual([ids.a!, 3])
    expect(neighbors[2]).toEqual({
      id: ids.c!,
      edge_type: 'refines',
      weight: 0.5,
      direction: 'outgoing',
      title: 'Decision c',
    })
    const count = async (given: object) =>
      (await program.call('getNeighbors', { decision_id: ids.a, ...given })).neighbors.length
    expect([await count({ direction: 'incoming' }), await count({ direction: 'outgoing' })]).toEqual([1, 2])
    expect([await count({ edge_type: 'refines' }), await count({ limit: 1 })]).toEqual([1, 1])
    expect((await program.refused('getNeighbors', { decision_id: ids.a, limit: 101 })).error).toBe('invalid_params')
  })
})
