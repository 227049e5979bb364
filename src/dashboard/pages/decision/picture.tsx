/** The picture of a graph: cards in layers, and lines between them whose style shows the type of each link. */
import { useMemo, useState } from 'preact/hooks'
import type { GetGraphResult } from '../../../../sdk/client.ts'
import { useWidth } from '../../charts.tsx'
import { To } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { type Layered, layersOf, outlineOf, placesOf, type Spot } from './layers.ts'
import { asideOf, type Drawn, type Edge, Ends, free, Line, measuresOf, pathOf } from './lines.tsx'

export type Graph = Pick<GetGraphResult, 'center_id' | 'nodes' | 'edges'>
type Node = Graph['nodes'][number]

const t = texts.graph

/** The outcome as a sign, because colour alone is not accessible. */
const signs: Record<string, string> = { success: '✓', failure: '✕', partial: '½', abandoned: '–', pending: '…' }
const stateOf = ({ outcome }: Node): string => outcome ?? 'pending'

/** Relation to a decision of the one through which it was reached. */
function relationOf(id: string, parent: string | undefined, edges: readonly Edge[]): string | null {
  const names = edges.flatMap(({ source_id, target_id, edge_type }) =>
    source_id === parent && target_id === id
      ? [t.relations[edge_type][0]]
      : source_id === id && target_id === parent
        ? [t.relations[edge_type][1]]
        : [],
  )
  return names.length > 0 ? [...new Set(names)].join(', ') : null
}

export function Picture({
  graph,
  steps,
  opened,
  turn,
}: {
  graph: Graph
  steps: number
  opened: ReadonlySet<string>
  /** Opens a decision or closes it. */
  turn: (id: string) => void
}) {
  const [box, room] = useWidth()
  const [at, setAt] = useState<string | null>(null)
  const layered = useMemo(() => layersOf(graph, steps, opened), [graph, steps, opened])
  const measures = measuresOf(room, layered.layers.length)
  const { width, height, margin, across, isOutline } = measures
  const spots = useMemo(
    () => (isOutline ? outlineOf(layered, measures) : placesOf(layered, measures)),
    [layered, room, isOutline],
  )
  const shown = graph.edges.filter(({ source_id, target_id }) => spots.has(source_id) && spots.has(target_id))
  const aside = asideOf(shown)
  const { parents } = layered
  const isTree = ({ source_id, target_id }: Edge): boolean =>
    parents.get(source_id) === target_id || parents.get(target_id) === source_id
  const right = isOutline ? width : Math.max(...[...spots.values()].map(({ x }) => x)) + width
  const extent = {
    width: right + (isOutline ? 3 * margin : free * across),
    height: Math.max(...[...spots.values()].map(({ y }) => y)) + height + 2 * margin,
  }
  const lists = isOutline
    ? [{ name: t.picture, ids: [...spots.keys()] }]
    : layered.layers.map((ids, step) => ({ name: t.layer(step), ids }))
  return (
    <figure ref={box}>
      <div class="graph scroll" role="group" aria-label={t.picture}>
        <div class="plane" style={{ width: `${extent.width}px`, height: `${extent.height}px` }}>
          <svg
            class="whole"
            width={extent.width}
            height={extent.height}
            viewBox={`${-margin} ${-margin} ${extent.width} ${extent.height}`}
            aria-hidden="true"
          >
            <Ends />
            {shown.map((edge) => (
              <Line
                key={`${edge.source_id} ${edge.target_id} ${edge.edge_type} ${edge.created_by}`}
                type={edge.edge_type}
                d={pathOf(
                  spots.get(edge.source_id)!,
                  spots.get(edge.target_id)!,
                  aside.get(edge)!,
                  isTree(edge),
                  measures,
                )}
                faint={!edge.effective}
                lit={edge.source_id === at || edge.target_id === at}
              />
            ))}
          </svg>
          <Cards {...{ graph, lists, layered, spots, measures, opened, turn, setAt, shown }} />
        </div>
      </div>
      <Legend types={[...new Set(shown.map(({ edge_type }) => edge_type))]} nodes={graph.nodes} spots={spots} />
    </figure>
  )
}

/** The cards as lists, the form in which a screen reader reads them. */
function Cards({
  graph,
  lists,
  layered: { parents, hidden },
  spots,
  measures: { width, height, margin, isOutline },
  opened,
  turn,
  setAt,
  shown,
}: {
  graph: Graph
  lists: readonly { name: string; ids: readonly string[] }[]
  layered: Layered
  spots: Map<string, Spot>
  measures: Drawn
  opened: ReadonlySet<string>
  turn: (id: string) => void
  setAt: (id: string | null) => void
  shown: readonly Edge[]
}) {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  return lists.map(({ name: list, ids }) => (
    <ol key={list} class="plain" aria-label={list}>
      {ids.map((id) => {
        const node = nodes.get(id)!
        const { x, y } = spots.get(id)!
        const relation = relationOf(id, parents.get(id), shown)
        const parent = nodes.get(parents.get(id) ?? '')?.title ?? ''
        const more = hidden.get(id) ?? 0
        return (
          <li
            key={id}
            class={id === graph.center_id ? 'node centre' : 'node'}
            style={{
              left: `${x + margin}px`,
              top: `${y + margin}px`,
              width: `${isOutline ? width - x : width}px`,
              height: `${height}px`,
            }}
            onMouseEnter={() => setAt(id)}
            onMouseLeave={() => setAt(null)}
            onFocusIn={() => setAt(id)}
            onFocusOut={() => setAt(null)}
          >
            <To path={`/decisions/${encodeURIComponent(id)}`} title={node.title}>
              <span class={`sign fill ${stateOf(node)}`} aria-hidden="true">
                {signs[stateOf(node)]}
              </span>
              <span class="name">
                {relation && (
                  <span class="relation">
                    <span class="unseen">{parent} </span>
                    {relation}{' '}
                  </span>
                )}
                <span class="title">{node.title}</span>
                <span class="unseen">, {stateOf(node)}</span>
              </span>
            </To>
            {(more > 0 || opened.has(id)) && (
              <button
                type="button"
                aria-expanded={opened.has(id)}
                aria-label={opened.has(id) ? t.close(node.title) : t.open(more, node.title)}
                onClick={() => turn(id)}
              >
                {opened.has(id) ? t.less : t.more(more)}
              </button>
            )}
          </li>
        )
      })}
    </ol>
  ))
}

function Legend({ types, nodes, spots }: { types: string[]; nodes: Graph['nodes']; spots: Map<string, Spot> }) {
  const states = new Set(nodes.filter(({ id }) => spots.has(id)).map(stateOf))
  return (
    <p class="quiet legend" aria-hidden="true">
      {types.sort().map((type) => (
        <span key={type}>
          <svg class="graph sample" width="46" height="14" viewBox="0 0 46 14" aria-hidden="true">
            <Line type={type} d="M2 7H40" />
          </svg>{' '}
          {type.replaceAll('_', ' ')}
        </span>
      ))}
      {[...states].map((state) => (
        <span key={state}>
          {signs[state]} {state}
        </span>
      ))}
    </p>
  )
}
