/** Puts a superseded decision directly below its successor. */

import { readDecisions } from '../../../sdk/storage/decisions.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import type { DecisionFields, Edge } from '../../../sdk/storage/store.ts'
import type { GraphStore } from '../record/decision/links.ts'

interface Ordered {
  id: string
  superseded_by: string | null
}

/** Longest chain of successors that is followed. */
const maxChain = 10

/** A successor of a decision, and the agent that linked it. */
interface Successor {
  id: string
  by: string
}

/** Effective edges `supersedes` that lead to these decisions and on to their successors. */
async function successorEdges(store: GraphStore, ids: readonly string[]): Promise<Map<string, Successor[]>> {
  const successors = new Map<string, Successor[]>()
  let open = [...ids]
  for (let depth = 0; open.length > 0 && depth < maxChain; depth++) {
    const edges: Edge[] = await store.edges.of(open, { direction: 'incoming', types: ['supersedes'], limit: 1_000 })
    const next: string[] = []
    for (const { source_id, target_id, effective, created_by: by } of edges) {
      if (!effective) continue
      const known = successors.get(target_id)
      if (known) known.push({ id: source_id, by })
      else successors.set(target_id, [{ id: source_id, by }])
      if (!successors.has(source_id)) next.push(source_id)
    }
    open = [...new Set(next)]
  }
  return successors
}

/**
 * Reorders ranked ids so that each one is directly below its successor. The successor moves up, and one that was not ranked is added, unless
 * the filter excludes it. But agents must not rank up decisions of others by retiring their own: if the recorder named another agent's
 * decision, the retired one moves down to it, or an unranked successor is added directly below. Cycles are ignored.
 */
export async function successorsFirst(
  store: GraphStore,
  ranked: readonly string[],
  passes: (fields: DecisionFields) => boolean,
): Promise<Ordered[]> {
  const successors = await successorEdges(store, ranked)
  if (successors.size === 0) return ranked.map((id) => ({ id, superseded_by: null }))
  const all = [...new Set([...successors.values()].flat().map(({ id }) => id))]
  const stored = await readDecisions(store.decisions, all)
  const allowed = new Set(
    stored.filter(({ record }) => passes(filterFields(record, true))).map(({ record }) => record.id),
  )
  const recorders = new Map(stored.map(({ record }) => [record.id, record.recorded_by]))
  const isForeign = ({ id, by }: Successor): boolean => recorders.get(id) !== by
  const unread = [...successors].flatMap(([target, own]) =>
    own.some(isForeign) && !recorders.has(target) ? [target] : [],
  )
  for (const { record } of await readDecisions(store.decisions, unread)) recorders.set(record.id, record.recorded_by)
  /** Whether the recorder of the retired decision named another agent's decision as its successor. Links by curators are not such. */
  const isOwnWord = (target: string, one: Successor): boolean => isForeign(one) && recorders.get(target) === one.by

  const isRanked = new Set(ranked)
  const placed = new Set<string>()
  const result: Ordered[] = []
  /** Decisions that wait for a successor further down. */
  const waiting = new Map<string, string[]>()
  const place = (id: string, path: ReadonlySet<string>): void => {
    if (placed.has(id) || path.has(id)) return
    const on = new Set(path).add(id)
    const follow = (successors.get(id) ?? []).filter((one) => !path.has(one.id))
    const below = follow.filter((one) => isOwnWord(id, one) && allowed.has(one.id) && !placed.has(one.id))
    for (const one of follow) if (allowed.has(one.id) && !below.includes(one)) place(one.id, on)
    if (placed.has(id)) return
    const awaited = below.find((one) => isRanked.has(one.id) && !placed.has(one.id))
    if (awaited && path.size === 0) {
      waiting.set(awaited.id, [...(waiting.get(awaited.id) ?? []), id])
      return
    }
    placed.add(id)
    result.push({ id, superseded_by: follow[0]?.id ?? null })
    for (const retired of waiting.get(id) ?? []) place(retired, new Set())
    for (const one of below) if (!isRanked.has(one.id)) place(one.id, on)
  }
  for (const id of ranked) place(id, new Set())
  // Decisions that wait for each other come last.
  for (const id of ranked) if (!placed.has(id)) result.push({ id, superseded_by: successors.get(id)?.[0]?.id ?? null })
  return result
}
