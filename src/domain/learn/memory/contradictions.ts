/** Contradictions: pairs of decisions that can't both be right. They are found when an outcome is known, and stored as edges. */

import type { DecisionRecord, Outcome } from '../../../../sdk/schema/decision.ts'
import type { Contradiction } from '../../../../sdk/schema/memory.ts'
import { readDecision, readDecisions } from '../../../../sdk/storage/decisions.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFilter, Edge, Store } from '../../../../sdk/storage/store.ts'
import { timestamp } from '../../../core/time.ts'
import { autoLink, isDismissed, withLink } from '../../record/decision/links.ts'
import { type EmbeddingCall, embedDecision, embedSignal } from '../../search/embeddings.ts'
import type { IndexSync } from '../../search/index-sync.ts'

/** Purposes at most this far apart count as the same. */
const sameFunction = 0.15
const opposite: Partial<Record<Outcome, Outcome>> = { success: 'failure', failure: 'success' }
const maxNearest = 5

/**
 * Decisions of the same project with nearly the same purpose and the opposite outcome of this one.
 * @param vector the purpose's vector; null if it is unavailable, and then nothing is found
 */
async function opposites(
  tools: { store: Store; index: IndexSync },
  record: DecisionRecord,
  vector: Float32Array | null,
): Promise<string[]> {
  const other = record.outcome === null ? undefined : opposite[record.outcome]
  const project = record.project?.name
  if (other === undefined || !project || vector === null) return []
  const near = await tools.index.nearest({
    vector,
    side: 'function',
    k: maxNearest,
    filter: { project, outcome: [other] },
  })
  return near.filter(({ id, distance }) => distance <= sameFunction && id !== record.id).map(({ id }) => id)
}

/** The superseded ones among these decisions. */
async function superseded(store: Store, ids: readonly string[]): Promise<Set<string>> {
  const edges = await store.edges.of(ids, { direction: 'incoming', types: ['supersedes'], limit: 10_000 })
  return new Set(edges.filter(({ effective }) => effective).map(({ target_id }) => target_id))
}

const pair = ({ source_id, target_id }: Edge): string => [source_id, target_id].sort().join(' ')

/** The contradictions of edges whose ends are both live (neither superseded nor abandoned), each pair once. */
async function unresolved(
  store: Store,
  edges: readonly Edge[],
  passes: (record: DecisionRecord) => boolean,
  seen: Set<string>,
): Promise<Contradiction[]> {
  const ids = [...new Set(edges.flatMap(({ source_id, target_id }) => [source_id, target_id]))]
  const dead = await superseded(store, ids)
  const records = new Map((await readDecisions(store.decisions, ids)).map(({ record }) => [record.id, record]))
  const outcomeOf = (id: string) => records.get(id)?.outcome ?? null
  // An automatic link was made because of the outcomes: it holds only while they are opposite.
  const holds = ({ created_by, source_id, target_id }: Edge): boolean => {
    const other = outcomeOf(source_id)
    return created_by !== autoLink || (other !== null && opposite[other] === outcomeOf(target_id))
  }
  const live = (id: string) => records.has(id) && !dead.has(id) && outcomeOf(id) !== 'abandoned'
  return edges
    .filter(
      (edge) =>
        edge.effective &&
        holds(edge) &&
        live(edge.source_id) &&
        live(edge.target_id) &&
        !seen.has(pair(edge)) &&
        seen.add(pair(edge)),
    )
    .flatMap(({ source_id, target_id, context }): Contradiction[] => {
      const ends = [records.get(source_id)!, records.get(target_id)!] as const
      const [first, second] = passes(ends[0]) ? ends : [ends[1], ends[0]]
      if (!passes(first)) return []
      return [
        {
          first_id: first.id,
          second_id: second.id,
          first_title: first.title,
          second_title: second.title,
          category: first.category,
          reason: context ?? 'They were linked as contradicting each other',
        },
      ]
    })
}

/** Recent answers of each store, valid until a decision changes. */
const answers = new WeakMap<Store, { seq: number; found: Map<string, Promise<Contradiction[]>> }>()
const mostAnswers = 16

/**
 * Contradictions between live decisions, newest first. Reads at most ten times as many edges, and the decisions of only as many as it needs.
 * @param filter passed by the first decision of each pair; if only one of the two passes, it becomes the first
 */
export async function listContradictions(
  store: Store,
  limit: number,
  filter: DecisionFilter = {},
): Promise<Contradiction[]> {
  const { seq } = await store.feed.head()
  let kept = answers.get(store)
  if (kept === undefined || kept.seq !== seq || kept.found.size >= mostAnswers) {
    kept = { seq, found: new Map() }
    answers.set(store, kept)
  }
  const { found } = kept
  const key = JSON.stringify([limit, filter])
  const known = found.get(key) ?? readContradictions(store, limit, filter)
  found.set(key, known)
  // A failure is not kept.
  known.catch(() => found.delete(key))
  return known
}

async function readContradictions(store: Store, limit: number, filter: DecisionFilter): Promise<Contradiction[]> {
  const compiled = compileFilter(filter)
  const passes = (record: DecisionRecord) => compiled(filterFields(record, true))
  const edges = await store.edges.of(null, { direction: 'both', types: ['contradicts'], limit: 10 * limit })
  const seen = new Set<string>()
  const found: Contradiction[] = []
  for (let from = 0; from < edges.length && found.length < limit; from += limit)
    found.push(...(await unresolved(store, edges.slice(from, from + limit), passes, seen)))
  return found.slice(0, limit)
}

/** What linking needs from a call. */
export interface LinkingCall extends EmbeddingCall {
  store: Store
  index: IndexSync
}

/** The vector of the decision's purpose; null while the index holds vectors of another embedder. */
async function purposeOf(call: LinkingCall, record: DecisionRecord): Promise<Float32Array | null> {
  await call.index.sync()
  const generation = call.index.generation()
  if (generation?.embedder !== call.embedder.id) return null
  const { vectors } = await embedDecision(call.embedder, record, embedSignal(call))
  return vectors.function.subarray(0, generation.dimensions)
}

/** Links a decision with those of the same purpose and project that have the opposite outcome. A failure is only logged, since the review is committed. */
export async function linkContradictions(call: LinkingCall, record: DecisionRecord): Promise<void> {
  if (record.outcome !== 'success' && record.outcome !== 'failure') return
  if (!record.project?.name) return
  try {
    const found = await opposites(call, record, await purposeOf(call, record))
    if (found.length === 0) return
    await call.store.transaction(async (tx) => {
      const now = await readDecision(tx.decisions, record.id)
      if (!now) return
      const context = 'The same purpose in one project, with opposite outcomes'
      const others = await Promise.all(found.map((id) => readDecision(tx.decisions, id)))
      const open = others.flatMap((other) =>
        other === null || isDismissed(now.record, other.record.id) || isDismissed(other.record, now.record.id)
          ? []
          : [other.record.id],
      )
      if (open.length === 0) return
      const linked = open.reduce(
        (one, target_id) =>
          withLink(one, {
            target_id,
            edge_type: 'contradicts',
            weight: 1,
            context,
            created_at: timestamp(call.now()),
            created_by: autoLink,
            effective: true,
          }),
        now.record,
      )
      await tx.decisions.put(linked, now.revision)
    })
  } catch (error) {
    call.log('warn', 'contradictions could not be searched', {
      request_id: call.request_id,
      id: record.id,
      error: String(error),
    })
  }
}
