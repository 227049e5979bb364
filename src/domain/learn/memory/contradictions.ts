/** Contradictions: pairs of decisions that can't both be right. They are found when an outcome is known, and stored as edges. */

import type { DecisionRecord, Outcome } from '../../../../sdk/schema/decision.ts'
import type { Contradiction } from '../../../../sdk/schema/memory.ts'
import { readDecision, readDecisions } from '../../../../sdk/storage/decisions.ts'
import { filterFields } from '../../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFilter, Edge, Store } from '../../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../../sdk/storage/vectors.ts'
import { timestamp } from '../../../core/time.ts'
import { autoLink, isDismissed, withLink } from '../../record/decision/links.ts'
import { type EmbeddingCall, embedDecision, embedSignal } from '../../search/embeddings.ts'
import type { IndexSync } from '../../search/index-sync.ts'
import { wordingOf, wordsOf } from './clusters.ts'

/** Purposes at most this far apart count as the same. */
const sameFunction = 0.15
/** Share of the embedder's similar distance within which two texts describe the same act. */
const sameAct = 0.7
const opposite: Partial<Record<Outcome, Outcome>> = { success: 'failure', failure: 'success' }
/** More like it, by purpose or as an act of its category, are an operation that is repeated: that it fails at times is a rate, no contradiction. */
const maxAlike = 3
const maxNearest = 20
/** The reason of a link that somebody made without saying why. */
export const asLinked = 'They were linked as contradicting each other'

/** What a decision chooses, without the numbers in which repetitions differ. */
const optionOf = ({ decision }: DecisionRecord): string =>
  wordsOf(decision)
    .filter((word) => !/\p{N}/u.test(word))
    .join(' ')

/** A choice: its purpose was stated. One that a rule extracted is like others as their wording is. */
const isChoice = ({ bridge_method }: DecisionRecord): boolean => bridge_method === 'given'

/** Whether two choices took different options and had opposite outcomes. */
const areContrary = (one: DecisionRecord, other: DecisionRecord): boolean =>
  isChoice(one) &&
  isChoice(other) &&
  optionOf(one) !== optionOf(other) &&
  one.outcome !== null &&
  opposite[one.outcome] === other.outcome

/**
 * Decisions of the same project with the same purpose, nearest first, and whether they or like acts of its category are many. A purpose in
 * the same words counts however far its vector is: one that is far from its decision is indexed as a mean with the decision's own text.
 */
async function alike(call: LinkingCall, record: DecisionRecord, vectors: VectorSet) {
  const near = async (side: 'function' | 'structure', filter: DecisionFilter) =>
    (await call.index.nearest({ vector: vectors[side], side, k: maxNearest, filter })).filter(
      ({ id }) => id !== record.id,
    )
  const of: DecisionFilter = { project: record.project!.name! }
  const { category, bridge } = record
  const purposeOf = new Map<string, string>()
  const candidates = await near('function', of)
  const ids = candidates.map(({ id }) => id)
  for (const { record: one } of await readDecisions(call.store.decisions, ids))
    purposeOf.set(one.id, wordingOf(one.bridge.function))
  const purpose = wordingOf(bridge.function)
  const purposes = candidates.filter(({ id, distance }) => distance <= sameFunction || purposeOf.get(id) === purpose)
  const acts = (await near('structure', category ? { ...of, category } : of)).filter(
    ({ distance }) => distance <= sameAct * call.embedder.similar_distance,
  )
  return {
    purposes: purposes.map(({ id }) => id),
    all: [...new Set([...purposes, ...acts].map(({ id }) => id))],
    repeated: purposes.length > maxAlike || acts.length > maxAlike,
  }
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
  // An automatic link was made because of texts and outcomes: it holds only while they are contrary.
  const holds = ({ created_by, source_id, target_id }: Edge): boolean => {
    const [one, other] = [records.get(source_id), records.get(target_id)]
    return created_by !== autoLink || (one !== undefined && other !== undefined && areContrary(one, other))
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
          reason: context ?? asLinked,
        },
      ]
    })
}

/** Recent answers of each store, valid until a decision changes. */
const answers = new WeakMap<Store, { seq: number; found: Map<string, Promise<Contradiction[]>> }>()
const mostAnswers = 16

/**
 * Contradictions between live decisions, newest first, one for each cluster that they connect. Reads at most ten times as many edges, and
 * the decisions of only as many as it needs.
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
  const clusterOf = new Map<string, string>()
  const root = (id: string): string => {
    let at = id
    for (let up = clusterOf.get(at); up !== undefined; up = clusterOf.get(at)) at = up
    return at
  }
  for (const { first_id, second_id } of found) {
    const [one, other] = [root(first_id), root(second_id)]
    if (one !== other) clusterOf.set(one, other)
  }
  const newest = new Map(found.toReversed().map((one) => [root(one.first_id), one]))
  return found.filter((one) => newest.get(root(one.first_id)) === one).slice(0, limit)
}

/** What linking needs from a call. */
export interface LinkingCall extends EmbeddingCall {
  store: Store
  index: IndexSync
}

/** The vectors of the decision; null while the index holds those of another embedder. */
async function vectorsOf(call: LinkingCall, record: DecisionRecord): Promise<VectorSet | null> {
  await call.index.sync()
  if (call.index.generation()?.embedder !== call.embedder.id) return null
  return (await embedDecision(call.embedder, record, embedSignal(call))).vectors
}

/** Withdraws the automatic contradictions of decisions that turned out to be repetitions. */
async function withdraw(call: LinkingCall, ids: readonly string[]): Promise<void> {
  const edges = await call.store.edges.of(ids, { direction: 'both', types: ['contradicts'], limit: 1_000 })
  const isAutomatic = ({ created_by, effective }: Pick<Edge, 'created_by' | 'effective'>) =>
    created_by === autoLink && effective
  for (const id of new Set(edges.filter(isAutomatic).map(({ source_id }) => source_id)))
    await call.store.transaction(async (tx) => {
      const found = await readDecision(tx.decisions, id)
      if (!found) return
      const links = found.record.links.filter((one) => one.edge_type !== 'contradicts' || !isAutomatic(one))
      await tx.decisions.put({ ...found.record, links, updated_at: timestamp(call.now()) }, found.revision)
    })
}

/**
 * Links a choice with the nearest one in force of the same purpose and project that took another option and had the opposite outcome. A
 * failure is only logged, since the review is committed.
 */
export async function linkContradictions(call: LinkingCall, record: DecisionRecord): Promise<void> {
  if (record.outcome !== 'success' && record.outcome !== 'failure') return
  if (!record.project?.name || !isChoice(record)) return
  try {
    const vectors = await vectorsOf(call, record)
    if (vectors === null) return
    const { purposes, all, repeated } = await alike(call, record, vectors)
    if (repeated) {
      await withdraw(call, [record.id, ...all])
      return
    }
    if (purposes.length === 0) return
    const replaced = await superseded(call.store, [record.id, ...purposes])
    if (replaced.has(record.id)) return
    await call.store.transaction(async (tx) => {
      const now = await readDecision(tx.decisions, record.id)
      const others = await Promise.all(purposes.map((id) => readDecision(tx.decisions, id)))
      const other = others.find(
        (one) =>
          now !== null &&
          one !== null &&
          !replaced.has(one.record.id) &&
          areContrary(now.record, one.record) &&
          !isDismissed(now.record, one.record.id) &&
          !isDismissed(one.record, now.record.id),
      )
      if (!now || !other) return
      const linked = withLink(now.record, {
        target_id: other.record.id,
        edge_type: 'contradicts',
        weight: 1,
        context: 'The same purpose in one project, with opposite outcomes',
        created_at: timestamp(call.now()),
        created_by: autoLink,
        effective: true,
      })
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
