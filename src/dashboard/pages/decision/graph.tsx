/** The decisions around one: the picture of their links, opened on demand, and the same links as a list. */
import { useMemo, useState } from 'preact/hooks'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { words } from '../../figures.ts'
import { Choice } from '../../form.tsx'
import { ToDecision } from '../../route.tsx'
import { callAll } from '../../service.ts'
import { texts } from '../../texts.ts'
import { useTitles } from '../../titles.ts'
import { Empty, List } from '../../ui.tsx'
import { type Graph as Known, Picture } from './picture.tsx'

const t = texts.graph

/** Maximum decisions of one call; more are reached by opening those at the edge. */
const limit = 200

/** Merges several answers into one graph around the centre of the first one. */
function merged([first, ...others]: readonly Known[]): Known {
  const nodes = new Map([first!, ...others].toReversed().flatMap((one) => one.nodes.map((node) => [node.id, node])))
  const edges = new Map(
    [first!, ...others].flatMap((one) =>
      one.edges.map((edge) => [`${edge.source_id} ${edge.target_id} ${edge.edge_type} ${edge.created_by}`, edge]),
    ),
  )
  return { center_id: first!.center_id, nodes: [...nodes.values()], edges: [...edges.values()] }
}

/** Loads one step more than is shown, to know what else the last shown decisions are linked with. */
async function load(id: string, steps: number, opened: readonly string[], signal: AbortSignal) {
  const asked = [
    { decision_id: id, depth: steps + 1, limit },
    ...opened.map((one) => ({ decision_id: one, depth: 2, limit })),
  ]
  const calls = asked.map((params) => ({ method: 'getGraph' as const, params }))
  const graphs = await callAll(calls, signal)
  return { ...merged(graphs), truncated: graphs.some(({ truncated }) => truncated) }
}

/** Dismissed automatic contradictions: by whom, and why. */
export function Dismissed({ links }: Pick<GetDecisionResult, 'links'>) {
  const dismissed = links.flatMap(({ target_id, dismissed }) => (dismissed ? [{ target_id, ...dismissed }] : []))
  const titleOf = useTitles(dismissed.map(({ target_id }) => target_id))
  return (
    <List of={dismissed}>
      {({ target_id, by, at, reason }) =>
        t.dismissed(<ToDecision id={target_id}>{titleOf(target_id)}</ToDecision>, by, at.slice(0, 10), reason)
      }
    </List>
  )
}

export function Graph({ id }: { id: string }) {
  const [depth, setDepth] = useState('1')
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const loaded = useCall(`${id} ${depth} ${[...opened].join(' ')}`, (signal) =>
    load(id, Number(depth), [...opened], signal),
  )
  const turn = (one: string) =>
    setOpened((before) =>
      before.has(one) ? new Set([...before].filter((other) => other !== one)) : new Set([...before, one]),
    )
  return (
    <Show of={loaded}>
      {(graph) => {
        if (graph.edges.length === 0) return <Empty>{t.none}</Empty>
        return (
          <>
            <Choice label={t.steps} name="depth" value={depth} options={['1', '2', '3']} onChange={setDepth} />
            <Picture graph={graph} steps={Number(depth)} opened={opened} turn={turn} />
            {graph.truncated && <p class="quiet">{t.truncated(graph.nodes.length)}</p>}
            <Links graph={graph} />
          </>
        )
      }}
    </Show>
  )
}

function Links({ graph: { nodes, edges } }: { graph: Known }) {
  const titles = useMemo(() => new Map(nodes.map((node) => [node.id, node.title])), [nodes])
  return (
    <details>
      <summary>{t.list}</summary>
      <ul>
        {edges.map(({ source_id, target_id, edge_type, context, effective, created_by }) => (
          <li key={`${source_id} ${target_id} ${edge_type} ${created_by}`}>
            <ToDecision id={source_id}>{titles.get(source_id) ?? source_id}</ToDecision> {words(edge_type)}{' '}
            <ToDecision id={target_id}>{titles.get(target_id) ?? target_id}</ToDecision>
            {context && <span class="quiet"> {context}</span>}
            {!effective && <span class="quiet"> ({t.ineffective})</span>}
          </li>
        ))}
      </ul>
    </details>
  )
}
