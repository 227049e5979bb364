/** cstp.linkDecisions: edges between decisions, on every store. */
import { expect, test } from 'bun:test'
import { edgeTypes } from '../../sdk/schema/decision.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('links two decisions, in the record of the source and in the graph', async () => {
    const { call, record, store, clock } = await open()
    const [source, target] = [await record(), await record()]
    clock.now += 1_000
    const created = { created_at: '2026-07-01T12:00:01.000Z', created_by: 'bob', effective: true }
    const link = { target_id: target, edge_type: 'refines' as const, weight: 0.25, context: 'why', ...created }
    const result = await call(
      'linkDecisions',
      { sourceId: source.slice(-12), target_id: target, edgeType: 'refines', weight: 0.25, context: 'why' },
      'bob',
    )
    expect(result).toEqual({ success: true, record_id: `${source}@2`, edge: { source_id: source, ...link } })
    expect((await call('getDecision', { id: source })).links).toEqual([link])
    expect((await call('getDecision', { id: target })).links).toEqual([])
    for (const [id, direction] of [[source, 'outgoing'] as const, [target, 'incoming'] as const])
      expect(await store.edges.of([id], { direction, limit: 10 })).toEqual([{ source_id: source, ...link }])
    expect((await store.audit.list({ limit: 1 }))[0]).toMatchObject({
      method: 'cstp.linkDecisions',
      agent: 'bob',
      ids: [source, target],
    })
  })

  test('weight is 1 and context null where not given', async () => {
    const { call, record } = await open()
    const { edge } = await call('linkDecisions', {
      source_id: await record(),
      target_id: await record(),
      edge_type: 'blocks',
    })
    expect(edge).toMatchObject({ weight: 1, context: null })
  })

  test('the same source, target and type replaces; another type stands beside it', async () => {
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

  test('decisions do not supersede each other in a circle; ignored links stand in nobody’s way', async () => {
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

  test('ten at once on two servers are all kept', async () => {
    const one = await open()
    const two = await one.second()
    const source_id = await one.record()
    const targets = await Promise.all(Array.from({ length: 10 }, () => one.record()))
    await Promise.all(
      targets.map((target_id, index) =>
        (index % 2 ? one : two).call('linkDecisions', { source_id, target_id, edge_type: 'relates_to' }),
      ),
    )
    expect((await one.call('getDecision', { id: source_id })).links.map(({ target_id }) => target_id).sort()).toEqual(
      targets.sort(),
    )
  })

  test('a link to itself is refused, also by a prefix', async () => {
    const { refused, record } = await open()
    const source_id = await record()
    for (const target_id of [source_id, source_id.slice(-12)])
      expect(await refused('linkDecisions', { source_id, target_id, edge_type: 'refines' })).toMatchObject({
        error: 'invalid_params',
        data: { issues: [{ path: 'target_id' }] },
      })
  })

  test.each<[object, string]>([
    [{ edge_type: undefined }, 'edge_type'],
    [{ edge_type: 'likes' }, 'edge_type'],
    [{ weight: 1.1 }, 'weight'],
    [{ weight: '1' }, 'weight'],
    [{ context: 'x'.repeat(10_001) }, 'context'],
    [{ target_id: undefined }, 'target_id'],
    [{ source_id: undefined }, 'source_id'],
    [{ source: 'x' }, 'source'],
  ])('%j is refused', async (given, path) => {
    const { refused, record } = await open()
    const params = { source_id: await record(), target_id: await record(), edge_type: 'refines', ...given }
    expect(await refused('linkDecisions', params)).toMatchObject({
      error: 'invalid_params',
      data: { issues: [{ path }] },
    })
  })

  test('the target must exist', async () => {
    const { refused, record } = await open()
    const target_id = '2020-01-01-decision-000000000000'
    const error = await refused('linkDecisions', { source_id: await record(), target_id, edge_type: 'refines' })
    expect(error).toMatchObject({ error: 'decision_not_found', data: { id: target_id } })
  })
})
