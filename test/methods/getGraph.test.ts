/** cstp.getGraph: cycles, directions, limits, degrees; links outlive updates, reindexing and a second server. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'
import * as fc from '../support/property.ts'

/** Decisions named by letters, linked as `a>b` says. */
async function linked(program: TestProgram, ...links: string[]): Promise<Record<string, string>> {
  const ids: Record<string, string> = {}
  for (const name of new Set(links.flatMap((link) => link.slice(0, 3).split('>'))))
    ids[name] = await program.record({ decision: `Decision ${name}` })
  for (const link of links) {
    const [source, target] = link.slice(0, 3).split('>') as [string, string]
    const edge_type = link.slice(4) || 'relates_to'
    await program.call('linkDecisions', { source_id: ids[source], target_id: ids[target], edge_type })
  }
  return ids
}

forEachBackend((open) => {
  /** The nodes as letters with their depths, and the edges as `a>b`. */
  async function walk({ call }: TestProgram, ids: Record<string, string>, center: string, given: object = {}) {
    const names = Object.fromEntries(Object.entries(ids).map(([name, id]) => [id, name]))
    const { nodes, edges, truncated } = await call('getGraph', { decision_id: ids[center], ...given })
    return {
      nodes: nodes.map(({ id, depth }) => `${names[id]}${depth}`).sort(),
      edges: edges.map(({ source_id, target_id }) => `${names[source_id]}>${names[target_id]}`).sort(),
      truncated,
    }
  }

  test('types restrict the walk; a node shows what it is, with its degrees in the whole graph', async () => {
    const program = await open()
    const ids = await linked(program, 'a>b depends_on', 'b>c supersedes', 'd>a blocks')
    expect((await walk(program, ids, 'a', { depth: 5, edge_types: ['depends_on'] })).nodes).toEqual(['a0', 'b1'])
    expect((await walk(program, ids, 'a', { depth: 5, edge_types: [] })).nodes.length).toBe(4)
    const { nodes, center_id, depth } = await program.call('getGraph', {
      decision_id: ids.a,
      edge_types: ['depends_on'],
    })
    expect([center_id, depth]).toEqual([ids.a!, 1])
    expect(nodes[0]).toEqual({
      id: ids.a!,
      title: 'Decision a',
      category: 'architecture',
      stakes: 'medium',
      status: 'pending',
      outcome: null,
      confidence: 0.8,
      date: '2026-07-01',
      depth: 0,
      in_degree: 1,
      out_degree: 1,
    })
    expect(nodes[1]).toMatchObject({ in_degree: 1, out_degree: 1 })
  })

  test('a limit cuts the walk, nearest decisions first, and says so', async () => {
    const program = await open()
    const ids = await linked(program, 'a>b', 'a>c', 'b>d', 'c>e')
    const found = await walk(program, ids, 'a', { depth: 5, limit: 3 })
    expect(found).toEqual({ nodes: ['a0', 'b1', 'c1'], edges: ['a>b', 'a>c'], truncated: true })
    expect((await walk(program, ids, 'a', { depth: 5, limit: 5 })).truncated).toBe(false)
    for (const given of [{ depth: 0 }, { depth: 6 }, { limit: 0 }, { edge_types: ['likes'] }, { direction: 'up' }])
      expect((await program.refused('getGraph', { decision_id: ids.a, ...given })).error).toBe('invalid_params')
    const missing = { decision_id: '2026-07-01-decision-ffffffffffff' }
    expect((await program.refused('getGraph', missing)).error).toBe('decision_not_found')
  })

  test('depths are shortest paths, whatever the graph', async () => {
    const program = await open()
    const names = 'abcdefg'.split('')
    const ids = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await program.record({ decision: name })])),
    )
    const next = fc.sample(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { numRuns: 12, seed: 7 })
    const links = next.filter(([a, b]) => a !== b)
    for (const [a, b] of links)
      await program.call('linkDecisions', { source_id: ids[a], target_id: ids[b], edge_type: 'relates_to' })
    for (const center of names) {
      const depths = new Map([[center, 0]])
      for (let depth = 1; depth <= 5; depth++)
        for (const [a, b] of links) if (depths.get(a) === depth - 1 && !depths.has(b)) depths.set(b, depth)
      const { nodes } = await walk(program, ids, center, { direction: 'outgoing', depth: 5 })
      expect(nodes).toEqual([...depths].map(([name, depth]) => `${name}${depth}`).sort())
    }
  })
})
