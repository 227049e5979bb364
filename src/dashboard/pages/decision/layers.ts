/** Layout of the decisions around one: one layer for each step, in an order with few crossings, and the position of each decision. */

interface Edge {
  source_id: string
  target_id: string
  edge_type: string
}

export interface Known {
  center_id: string
  nodes: readonly { id: string; in_degree: number; out_degree: number }[]
  edges: readonly Edge[]
}

export interface Layered {
  /** Ids by steps from the centre, each layer from top to bottom. */
  layers: string[][]
  /** The decision through which each one was reached; the centre has none. */
  parents: Map<string, string>
  /** Number of linked decisions that are not shown, for each shown decision that has any. */
  hidden: Map<string, number>
}

/** Maximum decisions shown around one, and in one layer, before anything is opened. */
const mostOfOne = 6
const mostOfLayer = 14
const sweeps = 6

type Neighbours = Map<string, string[]>

/** Links that change what a decision is worth come first. */
const ranks = ['supersedes', 'contradicts', 'blocks', 'depends_on', 'caused_by', 'refines', 'relates_to']
const rankOf = ({ edge_type }: Edge): number => ranks.indexOf(edge_type)

/** The linked decisions of each decision, grouped by type of link. */
export function neighboursOf({ nodes, edges }: Known): Neighbours {
  const found = new Map<string, Set<string>>(nodes.map(({ id }) => [id, new Set()]))
  for (const { source_id, target_id } of [...edges].sort((a, b) => rankOf(a) - rankOf(b))) {
    if (source_id === target_id || !found.has(source_id) || !found.has(target_id)) continue
    found.get(source_id)!.add(target_id)
    found.get(target_id)!.add(source_id)
  }
  return new Map([...found].map(([id, others]) => [id, [...others]]))
}

/** Steps from the centre, by the known links. */
function stepsFrom(center: string, neighbours: Neighbours): Map<string, number> {
  const steps = new Map([[center, 0]])
  for (const id of steps.keys())
    for (const other of neighbours.get(id) ?? []) if (!steps.has(other)) steps.set(other, steps.get(id)! + 1)
  return steps
}

/** @param opened decisions whose linked decisions are all shown */
export function layersOf(known: Known, steps: number, opened: ReadonlySet<string>): Layered {
  const neighbours = neighboursOf(known)
  const away = stepsFrom(known.center_id, neighbours)
  const parents = new Map<string, string>()
  const shown = new Set([known.center_id])
  const layers = [[known.center_id]]
  for (let last = layers[0]!; last.length > 0; last = layers.at(-1)!) {
    const next: string[] = []
    const open = last.filter((id) => layers.length <= steps || opened.has(id))
    const room = Math.max(1, Math.min(mostOfOne, Math.floor(mostOfLayer / open.length)))
    for (const id of open) {
      const found = neighbours.get(id)!.filter((one) => !shown.has(one) && away.get(one) === layers.length)
      for (const one of opened.has(id) ? found : found.slice(0, room)) {
        shown.add(one)
        parents.set(one, id)
        next.push(one)
      }
    }
    layers.push(next)
  }
  layers.pop()
  return { layers: ordered(layers, neighbours), parents, hidden: hiddenOf(known, neighbours, shown) }
}

function hiddenOf({ nodes, edges }: Known, neighbours: Neighbours, shown: ReadonlySet<string>): Map<string, number> {
  const degrees = new Map(nodes.map(({ id, in_degree, out_degree }) => [id, in_degree + out_degree]))
  for (const { source_id, target_id } of edges)
    for (const id of [source_id, target_id]) degrees.set(id, (degrees.get(id) ?? 0) - 1)
  const counts = [...shown].map((id) => {
    const known = neighbours.get(id)!.filter((one) => !shown.has(one)).length
    // Of decisions that were not loaded, only the number is known.
    return [id, known + Math.max(0, degrees.get(id)!)] as const
  })
  return new Map(counts.filter(([, count]) => count > 0))
}

/** Number of crossings of links between neighbouring layers. */
export function crossings(layers: readonly (readonly string[])[], neighbours: Neighbours): number {
  let count = 0
  for (const [at, layer] of layers.slice(1).entries()) {
    const places = new Map(layers[at]!.map((id, place) => [id, place]))
    const ends = layer.map((id) => neighbours.get(id)!.flatMap((other) => places.get(other) ?? []))
    for (const [lower, those] of ends.entries())
      for (const upper of ends.slice(0, lower))
        for (const one of those) count += upper.filter((other) => other > one).length
  }
  return count
}

/** Sorts a layer by the mean position of each decision's neighbours in the adjacent layer; the others stay roughly in place. */
function sorted(layer: readonly string[], beside: readonly string[], neighbours: Neighbours): string[] {
  const places = new Map(beside.map((id, place) => [id, place]))
  const scale = beside.length / Math.max(1, layer.length)
  const means = layer.map((id, at) => {
    const linked = neighbours.get(id)!.flatMap((other) => places.get(other) ?? [])
    const mean = linked.length > 0 ? linked.reduce((sum, place) => sum + place, 0) / linked.length : at * scale
    return { id, mean }
  })
  return means.sort((a, b) => a.mean - b.mean).map(({ id }) => id)
}

/** The same layers in the order with the fewest crossings found by sweeps from the centre and back. */
function ordered(layers: string[][], neighbours: Neighbours): string[][] {
  let best = layers
  let fewest = crossings(layers, neighbours)
  let tried = layers
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep++) {
    tried = [...tried]
    if (sweep % 2 === 0)
      for (let at = 1; at < tried.length; at++) tried[at] = sorted(tried[at]!, tried[at - 1]!, neighbours)
    else for (let at = tried.length - 2; at > 0; at--) tried[at] = sorted(tried[at]!, tried[at + 1]!, neighbours)
    const count = crossings(tried, neighbours)
    if (count < fewest) [best, fewest] = [tried, count]
  }
  return best
}

export interface Measures {
  width: number
  height: number
  /** Room between two layers, or the indent of a layer in an outline, and room between two decisions of a layer. */
  across: number
  between: number
}

export interface Spot {
  x: number
  y: number
}

/** The upper left corners if there is no room for layers side by side: an outline, each decision under the one it was reached from. */
export function outlineOf({ layers, parents }: Layered, { height, between, across }: Measures): Map<string, Spot> {
  const below = Map.groupBy(layers.flat(), (id) => parents.get(id))
  const spots = new Map<string, Spot>()
  const place = (id: string, step: number): void => {
    spots.set(id, { x: step * across, y: spots.size * (height + between) })
    for (const one of below.get(id) ?? []) place(one, step + 1)
  }
  place(layers[0]![0]!, 0)
  return spots
}

/** The upper left corner of each decision: level with those it is linked with, as far as there is room. */
export function placesOf({ layers, parents }: Layered, measures: Measures): Map<string, Spot> {
  const { width, height, across, between } = measures
  const pitch = height + between
  // A reader sees the centre first, however long the layer next to it is.
  const top = Math.min(((layers[1]?.length ?? 1) - 1) / 2, 2.5) * pitch
  const spots = new Map<string, Spot>([[layers[0]![0]!, { x: 0, y: top }]])
  for (const [step, layer] of layers.entries()) {
    if (step === 0) continue
    const wanted = layer.map((id) => spots.get(parents.get(id)!)!.y)
    const rows: number[] = []
    for (const [at, y] of wanted.entries()) rows.push(Math.max(y, at === 0 ? 0 : rows[at - 1]! + pitch))
    const drift = rows.reduce((sum, y, at) => sum + y - wanted[at]!, 0) / rows.length
    const shift = Math.min(drift, rows[0]!)
    for (const [at, id] of layer.entries()) spots.set(id, { x: step * (width + across), y: rows[at]! - shift })
  }
  return spots
}
