/** The graph of a decision in layers: what is shown, in which order, and that no two decisions are in one place. */
import { describe, expect, test } from 'bun:test'
import {
  crossings,
  type Known,
  layersOf,
  neighboursOf,
  outlineOf,
  placesOf,
} from '../../src/dashboard/pages/decision/layers.ts'
import * as fc from '../support/property.ts'

const types = ['relates_to', 'supersedes', 'depends_on', 'contradicts']
const measures = { width: 200, height: 64, across: 72, between: 14 }

/** A graph around `0` with the degrees that its edges give, as far as they are known. */
function graphOf(size: number, pairs: readonly (readonly [number, number, number])[]): Known {
  const edges = pairs.map(([from, to, type]) => ({
    source_id: String(from % size),
    target_id: String(to % size),
    edge_type: types[type % types.length]!,
  }))
  const nodes = Array.from({ length: size }, (_, at) => ({
    id: String(at),
    in_degree: edges.filter(({ target_id }) => target_id === String(at)).length,
    out_degree: edges.filter(({ source_id }) => source_id === String(at)).length,
  }))
  return { center_id: '0', nodes, edges }
}
const star = (rays: number): Known =>
  graphOf(
    rays + 1,
    Array.from({ length: rays }, (_, at) => [0, at + 1, 0] as const),
  )

const graphs = fc
  .record({
    size: fc.integer({ min: 1, max: 40 }),
    pairs: fc.array(fc.tuple(fc.nat(39), fc.nat(39), fc.nat(3)), { maxLength: 80 }),
  })
  .map(({ size, pairs }) => graphOf(size, pairs))
const openings = fc.uniqueArray(fc.nat(39).map(String), { maxLength: 5 }).map((ids) => new Set(ids))

describe('the graph in layers', () => {
  test('each decision is shown once, in the layer of its steps, beside the one it was reached by', () => {
    fc.assert(
      fc.property(graphs, fc.integer({ min: 1, max: 3 }), openings, (graph, steps, opened) => {
        const { layers, parents } = layersOf(graph, steps, opened)
        const all = layers.flat()
        expect(new Set(all).size).toBe(all.length)
        const step = new Map(layers.flatMap((layer, at) => layer.map((id) => [id, at] as const)))
        for (const id of all) {
          if (id === '0') continue
          expect(step.get(parents.get(id)!)).toBe(step.get(id)! - 1)
          if (step.get(id)! > steps) expect(opened.has(parents.get(id)!)).toBe(true)
        }
        for (const { source_id, target_id } of graph.edges)
          if (step.has(source_id) && step.has(target_id))
            expect(Math.abs(step.get(source_id)! - step.get(target_id)!)).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('no two decisions overlap, in layers or in an outline', () => {
    fc.assert(
      fc.property(graphs, openings, fc.boolean(), (graph, opened, isOutline) => {
        const layered = layersOf(graph, 3, opened)
        const spots = [...(isOutline ? outlineOf(layered, measures) : placesOf(layered, measures)).values()]
        expect(spots.length).toBe(layered.layers.flat().length)
        for (const [at, one] of spots.entries()) {
          expect(Math.min(one.x, one.y)).toBeGreaterThanOrEqual(0)
          for (const other of spots.slice(at + 1)) {
            const beside = Math.abs(one.x - other.x) >= measures.width
            expect(beside || Math.abs(one.y - other.y) >= measures.height).toBe(true)
          }
        }
      }),
    )
  })

  test('the order has no more crossings than that in which the decisions were found, and fewer where it can', () => {
    // Two layers whose links all cross in the order of their ids.
    const graph = graphOf(7, [
      [0, 1, 0],
      [0, 2, 0],
      [0, 3, 0],
      [1, 4, 1],
      [1, 5, 1],
      [2, 6, 1],
      [3, 4, 0],
      [3, 6, 0],
    ])
    const { layers } = layersOf(graph, 2, new Set())
    expect(crossings(layers, neighboursOf(graph))).toBeLessThan(
      crossings([['0'], ['1', '2', '3'], ['4', '5', '6']], neighboursOf(graph)),
    )
  })

  test('of many linked decisions the first are shown, the number of the others is known, and opening shows them', () => {
    const closed = layersOf(star(25), 1, new Set())
    expect([closed.layers[1]!.length, closed.hidden.get('0')]).toEqual([6, 19])
    const open = layersOf(star(25), 1, new Set(['0']))
    expect([open.layers[1]!.length, open.hidden.size]).toEqual([25, 0])
  })

  test('what was not asked for yet is counted by the degree of a decision', () => {
    const graph = star(2)
    const { hidden } = layersOf({ ...graph, nodes: graph.nodes.map((one) => ({ ...one, in_degree: 4 })) }, 1, new Set())
    expect(hidden).toEqual(
      new Map([
        ['0', 4],
        ['1', 3],
        ['2', 3],
      ]),
    )
  })

  test('links that change what a decision is worth come first', () => {
    const rays = Array.from({ length: 20 }, (_, at) => [0, at + 1, at === 19 ? 1 : 0] as const)
    expect(layersOf(graphOf(21, rays), 1, new Set()).layers[1]![0]).toBe('20')
  })
})
