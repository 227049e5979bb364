/** Walks over the graph of decisions (breadth first, each decision once, bounded), and changes of links. */

import type { DecisionRecord, EdgeType, Link } from '../../../../sdk/schema/decision.ts'
import type { Direction, GraphNode } from '../../../../sdk/schema/graph.ts'
import { readDecision, readDecisions } from '../../../../sdk/storage/decisions.ts'
import type { DecisionReader, Edge, EdgeReader } from '../../../../sdk/storage/store.ts'

/** Most edges read in one step of a walk, so that a hub does not hold up the server. */
const maxEdges = 5_000
const maxNeighbourEdges = 10_000

/** What a walk reads. */
export interface GraphStore {
  decisions: Pick<DecisionReader, 'get'>
  edges: { of(ids: readonly string[], query: Parameters<EdgeReader['of']>[1]): ReturnType<EdgeReader['of']> }
}

const edgeKey = ({ source_id, target_id, edge_type, created_by }: Edge): string =>
  `${source_id} ${target_id} ${edge_type} ${created_by}`

/** The decisions within `depth` steps of one, and the edges among them. `truncated` if a limit cut the walk. */
export async function neighbourhood(
  store: GraphStore,
  query: { center: string; depth: number; types: readonly EdgeType[] | undefined; direction: Direction; limit: number },
): Promise<{ nodes: GraphNode[]; edges: Edge[]; truncated: boolean }> {
  const { center, depth, types, direction, limit } = query
  const ofTypes = types === undefined ? {} : { types }
  const depths = new Map([[center, 0]])
  const edges = new Map<string, Edge>()
  let frontier = new Set([center])
  let truncated = false
  for (let step = 1; step <= depth && frontier.size > 0; step++) {
    const found = await store.edges.of([...frontier], { direction, ...ofTypes, limit: maxEdges })
    truncated ||= found.length === maxEdges
    const next = new Set<string>()
    for (const edge of found) {
      edges.set(edgeKey(edge), edge)
      // One end is in the frontier and so already known; the other end may be new.
      for (const id of [edge.source_id, edge.target_id]) {
        if (depths.has(id)) continue
        if (depths.size >= limit) truncated = true
        else {
          depths.set(id, step)
          next.add(id)
        }
      }
    }
    frontier = next
  }
  const records = await readDecisions(store.decisions, [...depths.keys()])
  const present = new Set(records.map(({ record }) => record.id))
  const degrees = degreesOf(await store.edges.of([...present], { direction: 'both', limit: maxEdges }))
  const nodes = records.map(({ record }): GraphNode => {
    const { id, title, category, stakes, status, outcome, confidence, date } = record
    const { incoming, outgoing } = degrees.get(id) ?? { incoming: 0, outgoing: 0 }
    return {
      id,
      title,
      category,
      stakes,
      status,
      outcome,
      confidence,
      date,
      depth: depths.get(id)!,
      in_degree: incoming,
      out_degree: outgoing,
    }
  })
  nodes.sort((a, b) => a.depth - b.depth || (a.id < b.id ? -1 : 1))
  const among = [...edges.values()].filter(
    ({ source_id, target_id }) => present.has(source_id) && present.has(target_id),
  )
  return { nodes, edges: among.sort((a, b) => (edgeKey(a) < edgeKey(b) ? -1 : 1)), truncated }
}

function degreesOf(edges: readonly Edge[]): Map<string, { incoming: number; outgoing: number }> {
  const degrees = new Map<string, { incoming: number; outgoing: number }>()
  const of = (id: string) => {
    const known = degrees.get(id) ?? { incoming: 0, outgoing: 0 }
    degrees.set(id, known)
    return known
  }
  for (const { source_id, target_id } of edges) {
    of(source_id).outgoing++
    of(target_id).incoming++
  }
  return degrees
}

/** The neighbours of a decision, strongest first, then by id; `total` also counts neighbours whose record is gone. */
export async function neighbours(
  store: GraphStore,
  query: { id: string; types: readonly EdgeType[] | undefined; direction: Direction; limit: number },
) {
  const { id, types, direction, limit } = query
  const edges = await store.edges.of([id], { direction, ...(types && { types }), limit: maxNeighbourEdges })
  const all = edges.map((edge) => {
    const outgoing = edge.source_id === id
    return {
      id: outgoing ? edge.target_id : edge.source_id,
      edge_type: edge.edge_type,
      weight: edge.weight,
      direction: outgoing ? ('outgoing' as const) : ('incoming' as const),
    }
  })
  all.sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : a.id > b.id ? 1 : a.edge_type < b.edge_type ? -1 : 1))
  const page = all.slice(0, limit)
  const records = await readDecisions(
    store.decisions,
    page.map((one) => one.id),
  )
  const titles = new Map(records.map(({ record }) => [record.id, record.title]))
  return {
    neighbors: page.flatMap((one) => (titles.has(one.id) ? [{ ...one, title: titles.get(one.id)! }] : [])),
    total: all.length,
  }
}

type LinkKey = Pick<Link, 'target_id' | 'edge_type'>
const isSame = (a: LinkKey, b: LinkKey): boolean => a.target_id === b.target_id && a.edge_type === b.edge_type

/** The record with this link; a link with the same target, type and creator is replaced. */
export function withLink(record: DecisionRecord, link: Link): DecisionRecord {
  const others = record.links.filter((one) => !isSame(one, link) || one.created_by !== link.created_by)
  return { ...record, links: [...others, link], updated_at: link.created_at }
}

/** The links of a record to this target with this type, one per creator, without dismissed ones. */
export const sameLinks = ({ links }: DecisionRecord, key: LinkKey): Link[] =>
  links.filter((one) => isSame(one, key) && one.dismissed === undefined)

/** The creator of links that the service finds itself. */
export const autoLink = 'auto-link'

/**
 * Whether this agent may remove the link. Its creator may; an automatic link can be removed by the recorder of its source, and an
 * automatic contradiction only by an agent that recorded both ends.
 */
export function ownsLink(link: Link, source: DecisionRecord, target: DecisionRecord | null, agent: string): boolean {
  if (link.created_by !== autoLink) return link.created_by === agent
  return source.recorded_by === agent && (link.edge_type !== 'contradicts' || target?.recorded_by === agent)
}

/** Whether the contradiction between these two was dismissed. */
export const isDismissed = (record: DecisionRecord, other_id: string): boolean =>
  record.links.some(({ target_id, dismissed }) => target_id === other_id && dismissed !== undefined)

/** The record without these links; an automatic contradiction is kept as dismissed, since it would be found again. */
export function takenBack(
  record: DecisionRecord,
  removed: readonly Link[],
  dismissed: NonNullable<Link['dismissed']>,
): DecisionRecord {
  const links = record.links.flatMap((link) => {
    if (!removed.includes(link)) return [link]
    if (link.created_by !== autoLink || link.edge_type !== 'contradicts') return []
    return [{ ...link, effective: false, dismissed }]
  })
  return { ...record, links, updated_at: dismissed.at }
}

/** Most decisions that are read to check whether a chain of successors returns to its start. */
const maxChain = 1_000

/**
 * Whether the target already supersedes the source, over any number of steps. Links that ranking ignores count only if the agent made
 * them itself, so that they can't be used to block others.
 */
export async function closesCycle(
  decisions: Pick<DecisionReader, 'get'>,
  source_id: string,
  target: DecisionRecord,
  agent: string,
): Promise<boolean> {
  const seen = new Set([target.id])
  const open = [target]
  for (let record = open.shift(); record !== undefined; record = open.shift()) {
    for (const { target_id, edge_type, effective, created_by } of record.links) {
      if (edge_type !== 'supersedes' || !(effective || created_by === agent) || seen.has(target_id)) continue
      if (target_id === source_id) return true
      if (seen.size === maxChain) return false
      seen.add(target_id)
      const next = await readDecision(decisions, target_id)
      if (next) open.push(next.record)
    }
  }
  return false
}
