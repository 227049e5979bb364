/** Puts the successor of a superseded decision directly above it. */

import { fieldsOf } from '../../../sdk/storage/fields.ts'
import type { DecisionFields, Edge, Store } from '../../../sdk/storage/store.ts'

interface Ordered {
  id: string
  superseded_by: string | null
}

/** Longest chain of successors that is followed. */
const maxChain = 10

/** Edges `supersedes` that lead to these decisions and on to their successors. */
async function successorEdges(store: Store, ids: readonly string[]): Promise<Map<string, string[]>> {
  const successors = new Map<string, string[]>()
  let open = [...ids]
  for (let depth = 0; open.length > 0 && depth < maxChain; depth++) {
    const edges: Edge[] = await store.edges.of(open, { direction: 'incoming', types: ['supersedes'], limit: 1_000 })
    const next: string[] = []
    for (const { source_id, target_id, effective } of edges) {
      if (!effective) continue
      const known = successors.get(target_id)
      if (known) known.push(source_id)
      else successors.set(target_id, [source_id])
      if (!successors.has(source_id)) next.push(source_id)
    }
    open = [...new Set(next)]
  }
  return successors
}

/**
 * Reorders ranked ids so that each one's successor stands directly above it, unless it ranks higher already or the filter drops it.
 * A successor that was not ranked is brought in. Cycles are ignored.
 */
export async function successorsFirst(
  store: Store,
  ranked: readonly string[],
  passes: (fields: DecisionFields) => boolean,
): Promise<Ordered[]> {
  const successors = await successorEdges(store, ranked)
  if (successors.size === 0) return ranked.map((id) => ({ id, superseded_by: null }))
  const all = [...new Set([...successors.values()].flat())]
  const stored = await store.decisions.getMany(all)
  const allowed = new Set(stored.filter(({ record }) => passes(fieldsOf(record, true))).map(({ record }) => record.id))
  const placed = new Set<string>()
  const result: Ordered[] = []
  const place = (id: string, path: ReadonlySet<string>): void => {
    if (placed.has(id) || path.has(id)) return
    const on = new Set(path).add(id)
    const follow = (successors.get(id) ?? []).filter((one) => !path.has(one))
    for (const one of follow) if (allowed.has(one)) place(one, on)
    if (placed.has(id)) return
    placed.add(id)
    result.push({ id, superseded_by: follow[0] ?? null })
  }
  for (const id of ranked) place(id, new Set())
  return result
}
