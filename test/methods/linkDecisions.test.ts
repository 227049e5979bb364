/** cstp.linkDecisions: edges between decisions, on every store. */
import { expect, test } from 'bun:test'
import { edgeTypes } from '../../sdk/schema/decision.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('the same source, target and type replaces; another type is kept beside it', async () => {
    const { call, record, store } = await open()
    const [source_id, target_id] = [await record(), await record()]
    for (const edge_type of edgeTypes) await call('linkDecisions', { source_id, target_id, edge_type })
    await call('linkDecisions', { source_id, target_id, edge_type: 'refines', weight: 0 })
    await call('linkDecisions', { source_id: target_id, target_id: source_id, edge_type: 'refines' })
    const { links } = await call('getDecision', { id: source_id })
    expect(links.map(({ edge_type }) => edge_type).sort()).toEqual([...edgeTypes].sort())
    expect(links.filter(({ weight }) => weight === 0)).toHaveLength(1)
    expect(await store.edges.of([source_id], { direction: 'both', limit: 100 })).toHaveLength(edgeTypes.length + 1)
  })

  test('the link of another agent stays beside the own one', async () => {
    const { call, record } = await open()
    const [source_id, target_id] = [await record(), await record()]
    for (const as of ['alice', 'bob', 'bob'] as const)
      await call('linkDecisions', { source_id, target_id, edge_type: 'refines', context: as }, as)
    const { links } = await call('getDecision', { id: source_id })
    expect(links.map(({ context, created_by }) => [context, created_by])).toEqual([
      ['alice', 'alice'],
      ['bob', 'bob'],
    ])
  })

  test('nobody supersedes the decision of another agent, but for curators', async () => {
    const { call, record } = await open()
    const [target_id, source_id] = [
      await record({ decision: 'Use SQLite' }),
      await record({ decision: 'Use ink' }, 'bob'),
    ]
    const link = { source_id, target_id, edge_type: 'supersedes' }
    const successor = async () => {
      const { decisions } = await call('queryDecisions', { query: 'Use SQLite', retrieval_mode: 'keyword' })
      return decisions.find(({ id }) => id === target_id)!.superseded_by
    }
    for (const [as, effective, by] of [
      ['bob', false, null],
      ['alice', true, source_id],
      ['curator', true, source_id],
    ] as const) {
      expect((await call('linkDecisions', link, as)).edge.effective).toBe(effective)
      expect([as, await successor()]).toEqual([as, by])
      await call('unlinkDecisions', link, as)
      expect([as, await successor()]).toEqual([as, null])
    }
  })

  test('decisions do not supersede each other in a circle; ignored links do not count', async () => {
    const { call, refused, record } = await open()
    const ids = [await record(), await record(), await record()]
    const link = (from: number, to: number) => ({ source_id: ids[from], target_id: ids[to], edge_type: 'supersedes' })
    await call('linkDecisions', link(0, 2), 'bob')
    await call('linkDecisions', link(1, 0))
    await call('linkDecisions', link(2, 1))
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [0, 2],
    ] as const)
      expect(await refused('linkDecisions', link(from, to))).toMatchObject({
        code: -32602,
        data: { issues: [{ path: 'target_id' }] },
      })
    expect((await refused('linkDecisions', link(2, 0), 'bob')).code).toBe(-32602)
  })
})
