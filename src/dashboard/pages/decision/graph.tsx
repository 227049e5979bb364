/** The decisions around one, laid out by their links. */
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from 'd3-force'
import { useState } from 'preact/hooks'
import type { GetDecisionResult, GetGraphResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { useWidth } from '../../charts.tsx'
import { words } from '../../figures.ts'
import { Choice } from '../../form.tsx'
import { To, ToDecision } from '../../route.tsx'
import { service } from '../../service.ts'
import { Empty } from '../../ui.tsx'

/** Few decisions need little room. */
const heightOf = (count: number): number => (count <= 3 ? 220 : count <= 7 ? 340 : count <= 20 ? 460 : 640)

/** The outcome as a sign, because colour alone is not accessible. */
const signs: Record<string, string> = { success: '✓', failure: '✕', partial: '½', abandoned: '–', pending: '…' }

interface Spot {
  id: string
  title: string
  state: string
  depth: number
  x: number
  y: number
}

/** Positions of the decisions. The layout is deterministic. */
function layout({ center_id, nodes, edges }: GetGraphResult, width: number): Map<string, Spot> {
  // Names are side by side rather than above each other: spare room is used horizontally.
  const stretch = Math.max(0.8, width / 530)
  const height = heightOf(nodes.length)
  const spots: (Spot & { fx?: number; fy?: number })[] = nodes.map(({ id, title, outcome, depth }, at) => ({
    id,
    title,
    state: outcome ?? 'pending',
    depth,
    x: width / 2 + 90 * depth * Math.cos(at * 2.4),
    y: height / 2 + 70 * depth * Math.sin(at * 2.4),
    ...(id === center_id && { fx: width / 2, fy: height / 2 }),
  }))
  const links = edges.map(({ source_id, target_id }) => ({ source: source_id, target: target_id }))
  forceSimulation(spots)
    .force(
      'links',
      forceLink<(typeof spots)[number], (typeof links)[number]>(links)
        .id(({ id }) => id)
        .distance(140),
    )
    .force('apart', forceManyBody().strength(-700))
    .force('room', forceCollide(46))
    .force('x', forceX(width / 2).strength(0.04))
    .force('y', forceY(height / 2).strength(0.09))
    .stop()
    .tick(200)
  const within = (value: number, most: number, edge: number) => Math.min(most - edge, Math.max(edge, value))
  return new Map(
    spots.map((spot) => [
      spot.id,
      {
        ...spot,
        x: within(width / 2 + stretch * (spot.x - width / 2), width, Math.min(105, width / 4)),
        y: within(spot.y, height, 34),
      },
    ]),
  )
}

const short = (title: string, most: number): string =>
  title.length > most ? `${title.slice(0, most - 1).trimEnd()}…` : title

function Picture({ graph }: { graph: GetGraphResult }) {
  const [box, width] = useWidth()
  const spots = layout(graph, width)
  const height = heightOf(graph.nodes.length)
  const most = width < 600 ? 14 : 26
  return (
    <figure ref={box}>
      <svg viewBox={`0 0 ${width} ${height}`} class="graph" aria-label="Decisions and their links" role="group">
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="22" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {graph.edges.map(({ source_id, target_id, edge_type }) => {
          const [from, to] = [spots.get(source_id), spots.get(target_id)]
          if (!from || !to) return null
          return (
            <g key={`${source_id} ${target_id} ${edge_type}`} class={`edge ${edge_type}`}>
              <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} marker-end="url(#arrow)" />
              {edge_type !== 'relates_to' && (
                <text x={(from.x + to.x) / 2} y={(from.y + to.y) / 2 - 4} text-anchor="middle">
                  {words(edge_type)}
                </text>
              )}
            </g>
          )
        })}
        {[...spots.values()].map(({ id, title, state, depth, x, y }) => (
          <To key={id} path={`/decisions/${encodeURIComponent(id)}`}>
            <g class={`node ${depth === 0 ? 'centre' : ''}`}>
              <title>{`${title}, ${state}`}</title>
              <circle cx={x} cy={y} r={depth === 0 ? 15 : 12} class={`fill ${state}`} />
              <text class="sign" x={x} y={y} dy="0.36em" text-anchor="middle">
                {signs[state]}
              </text>
              <text class="name" x={x} y={y + (depth === 0 ? 32 : 27)} text-anchor="middle">
                {short(title, most)}
              </text>
            </g>
          </To>
        ))}
      </svg>
      <p class="quiet legend" aria-hidden="true">
        {[...new Set(graph.nodes.map(({ outcome }) => outcome ?? 'pending'))].map((state) => (
          <span key={state}>
            {signs[state]} {state}
          </span>
        ))}
      </p>
    </figure>
  )
}

/** Contradictions that were found automatically and are none: who says so, and why. */
export function Dismissed({ links }: Pick<GetDecisionResult, 'links'>) {
  const dismissed = links.flatMap(({ target_id, dismissed }) => (dismissed ? [{ target_id, ...dismissed }] : []))
  if (dismissed.length === 0) return null
  return (
    <ul class="plain">
      {dismissed.map(({ target_id, by, at, reason }) => (
        <li key={target_id}>
          Contradiction with <ToDecision id={target_id}>{target_id}</ToDecision> dismissed by {by}, {at.slice(0, 10)}
          {reason && `: ${reason}`}
        </li>
      ))}
    </ul>
  )
}

export function Graph({ id }: { id: string }) {
  const [depth, setDepth] = useState('1')
  const loaded = useCall(`${id} ${depth}`, (signal) =>
    service.getGraph({ decision_id: id, depth: Number(depth), limit: 40 }, { signal }),
  )
  return (
    <Show of={loaded}>
      {(graph) => {
        if (graph.edges.length === 0)
          return <Empty>This decision has no links. Agents link decisions with cstp.linkDecisions.</Empty>
        const titles = new Map(graph.nodes.map((node) => [node.id, node.title]))
        return (
          <>
            <Choice label="Steps from here" name="depth" value={depth} options={['1', '2', '3']} onChange={setDepth} />
            <Picture graph={graph} />
            {graph.truncated && <p class="quiet">Only the nearest 40 decisions are shown.</p>}
            <details>
              <summary>Show as a list</summary>
              <ul>
                {graph.edges.map(({ source_id, target_id, edge_type, context, effective }) => (
                  <li key={`${source_id} ${target_id} ${edge_type}`}>
                    <ToDecision id={source_id}>{titles.get(source_id) ?? source_id}</ToDecision> {words(edge_type)}{' '}
                    <ToDecision id={target_id}>{titles.get(target_id) ?? target_id}</ToDecision>
                    {context && <span class="quiet"> {context}</span>}
                    {!effective && <span class="quiet"> (without effect)</span>}
                  </li>
                ))}
              </ul>
            </details>
          </>
        )
      }}
    </Show>
  )
}
