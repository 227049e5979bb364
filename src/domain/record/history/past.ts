/** The store as it was at an earlier time: the same queries, answered from the records as they were then. */
import { invalidParams } from '../../../../sdk/errors.ts'
import type { AsOfBlock, AsOfLimit } from '../../../../sdk/schema/as-of.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { decisionPages, parseRecord, readDecisions, type StoredText } from '../../../../sdk/storage/decisions.ts'
import { edgeOrder, edgesOf } from '../../../../sdk/storage/edges.ts'
import { compareText, fieldsOrder, filterFields } from '../../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../../sdk/storage/filter.ts'
import { countDecisions, type Groups } from '../../../../sdk/storage/groups.ts'
import { keyedPages } from '../../../../sdk/storage/keyed.ts'
import type {
  CountFilter,
  DecisionFields,
  DecisionFilter,
  DecisionReader,
  EdgeReader,
  KeyedReader,
  Store,
  StoredDecision,
} from '../../../../sdk/storage/store.ts'
import { timestamp } from '../../../core/time.ts'
import { recordedAt } from '../decision/decision.ts'
import { erasureCollections, type Tombstone } from '../decision/tombstone.ts'
import { formerSources } from './former-links.ts'
import { groupsOfBoth } from './past-groups.ts'
import { statesAsOf } from './states.ts'

/** The queries that can be answered for an earlier time. */
export interface PastStore {
  decisions: Pick<DecisionReader, 'get' | 'find' | 'list'> & Groups
  edges: { of(ids: readonly string[], query: Parameters<EdgeReader['of']>[1]): ReturnType<EdgeReader['of']> }
  /** The current keyed records, for tombstones. */
  keyed: KeyedReader
}

/** An earlier time, and the limits of answers about it. */
export interface Past {
  readonly at_ms: number
  readonly store: PastStore
  now(): number
  /** Decisions by id as they were then, without those that had not been recorded yet. */
  read(ids: readonly string[]): Promise<StoredDecision[]>
  /** Notes a limit of the answer. */
  limit(limit: AsOfLimit['limit'], message: string, ids?: readonly string[]): void
  /** Notes that decisions were erased since, if there are any. */
  noteErased(): Promise<void>
  /** The field `as_of` of the answer. */
  block(): AsOfBlock
}

/** How often an answer is asked for while decisions change under it. */
const maxAttempts = 3
/** Other calls have their turn after each page. */
const pageSize = 100
const maxIds = 100
const maxIncoming = 10_000

/** The parts of a call that are needed. */
interface PastCall {
  store: Store
  now(): number
  /** Resolves when other calls have had their turn. */
  yieldToEventLoop(): Promise<void>
}

/** No transaction lasts so long. */
const settled_ms = 60_000

/**
 * Resolves when no commit can get this time any more: it waits behind the transactions that have begun.
 * @throws CstpError `invalid_params` for a time in the future
 */
export async function openPast({ store, now, yieldToEventLoop }: PastCall, as_of: string): Promise<Past> {
  const at_ms = Date.parse(as_of)
  if (at_ms > now()) throw refused('a time that is not in the future', as_of)
  if (at_ms > now() - settled_ms) await store.transaction(async () => {})
  const limits = new Map<AsOfLimit['limit'], { message: string; ids: Set<string> }>()
  const limit: Past['limit'] = (name, message, ids = []) => {
    const known = limits.get(name) ?? { message, ids: new Set() }
    for (const id of ids) known.ids.add(id)
    limits.set(name, known)
  }
  const shown = (): AsOfLimit[] =>
    [...limits]
      .map(([name, { message, ids }]) => ({ limit: name, message, ids: [...ids].sort().slice(0, maxIds) }))
      .sort((a, b) => compareText(a.limit, b.limit))

  async function read(ids: readonly string[]): Promise<StoredDecision[]> {
    const found: StoredDecision[] = []
    for (let from = 0; from < ids.length; from += pageSize) {
      const page = await readDecisions(store.decisions, ids.slice(from, from + pageSize))
      const known = page.filter(({ record }) => isRecorded(record))
      const changed = known.filter(({ record }) => !isUnchanged(record))
      const states = await statesAsOf(store.thread, changed, at_ms)
      const then = new Map(states.map((one) => [one.stored.record.id, one]))
      for (const one of known) {
        const { stored, isKnown } = then.get(one.record.id) ?? { stored: one, isKnown: true }
        if (!isKnown)
          limit('old_values_dropped', 'The state of then was erased: shown is the next one that is kept', [
            one.record.id,
          ])
        found.push(stored)
      }
      await yieldToEventLoop()
    }
    return found
  }

  const isUnchanged = ({ updated_at }: DecisionRecord): boolean => Date.parse(updated_at) <= at_ms

  function isRecorded(record: DecisionRecord): boolean {
    if (Date.parse(recordedAt(record)) <= at_ms) return true
    if (Date.parse(record.created_at) <= at_ms)
      limit('imported_since', 'Decided by then, but imported later: left out, as it was not known here', [record.id])
    return false
  }

  let erased: Promise<void> | null = null
  /** Notes decisions that were erased since: it is unknown whether they would be part of the answer. */
  const noteErased = (): Promise<void> => {
    erased ??= erasedSince(store.keyed, at_ms).then((ids) => {
      if (ids.length > 0) limit('erased', 'Erased since: whether these would be part of the answer is not known', ids)
    })
    return erased
  }

  /** The decisions that changed after the time, as they were then; the others are as they are today. `of_today` counts them today. */
  interface Changed {
    of_today: number
    states: DecisionFields[]
  }
  const walked = new Map<string, Promise<Changed>>()

  async function walk(changed: DecisionFilter): Promise<Changed> {
    await noteErased()
    const found: Changed = { of_today: 0, states: [] }
    for await (const page of decisionPages(store.decisions, changed, pageSize)) {
      found.of_today += page.length
      for (const { record, indexed } of await read(page.map(({ id }) => id)))
        found.states.push(filterFields(record, indexed))
    }
    return found
  }

  /**
   * Answers from two parts: decisions that have not changed since, which the store answers by today's values, and the past states of the
   * others that pass the filter. Asks again if a decision went from one part to the other in between.
   */
  async function ofBoth<T>(
    filter: CountFilter,
    ask: (unchanged: CountFilter, changed: DecisionFields[]) => Promise<T>,
  ): Promise<T> {
    const fixed = fixedOf(filter, at_ms)
    const since = { ...fixed, updated_from_ms: at_ms + 1 }
    const key = JSON.stringify(since)
    const unchanged = { ...filter, created_to_ms: fixed.created_to_ms!, updated_to_ms: at_ms }
    for (let left = maxAttempts; ; left--) {
      const walking = walked.get(key) ?? walk(since)
      walked.set(key, walking)
      const { of_today, states } = await walking
      const answer = await ask(unchanged, states.filter(compileFilter(filter)))
      if (left === 1 || (await countDecisions(store.decisions, since)) === of_today) return answer
      walked.delete(key)
    }
  }

  /** Counts that are asked for together would hold the event loop as one. */
  const turns: Promise<unknown>[] = []
  function inTurn<T>(count: () => Promise<T>): Promise<T> {
    const before = turns.at(-1)
    const counted = before === undefined ? count() : before.then(yieldToEventLoop).then(count)
    turns.push(counted.catch(() => {}).finally(() => void turns.shift()))
    return counted
  }

  const textOf = ({ record, ...facts }: StoredDecision): StoredText => ({
    ...facts,
    id: record.id,
    json: JSON.stringify(record),
    agent: record.recorded_by,
    created_ms: Date.parse(record.created_at),
  })

  const decisions: PastStore['decisions'] = {
    get: async (ids) => (await read(ids)).map(textOf),
    find: async (query) => (await read(await store.decisions.find(query))).map(({ record }) => record.id),
    list: ({ filter, ids, sort, order, offset, limit }) =>
      ofBoth(filter, async (unchanged, states) => {
        const kept = ids && new Set(ids)
        const changed = states.filter(({ id }) => kept === undefined || kept.has(id))
        // At most so many of those that come before the page are among the changed ones.
        const from = Math.max(0, offset - changed.length)
        const today = { filter: unchanged, ids, sort, order, offset: from, limit: offset + limit - from }
        const { texts, total } = await store.decisions.list(today)
        // No list is sorted by `indexed`.
        const fields = texts.map((text) => filterFields(parseRecord(text), false))
        const page = [...fields, ...changed].sort(fieldsOrder(sort, order)).slice(offset - from, offset - from + limit)
        return { texts: (await read(page.map(({ id }) => id))).map(textOf), total: total + changed.length }
      }),
    groups: (filter, by) =>
      inTurn(() =>
        ofBoth(filter, (unchanged, states) => groupsOfBoth(store.decisions, unchanged, states, by, yieldToEventLoop)),
      ),
  }

  const edges: PastStore['edges'] = {
    async of(ids, { direction, types, limit }) {
      const wanted = new Set(ids)
      const sources = new Set(direction === 'incoming' ? [] : ids)
      if (direction !== 'outgoing') {
        const today = await store.edges.of(ids, { direction: 'incoming', limit: maxIncoming })
        for (const { source_id } of today) sources.add(source_id)
        for (const id of ids) for (const source of await formerSources(store.keyed, id)) sources.add(source)
      }
      const starts = ({ source_id }: { source_id: string }) => direction !== 'incoming' && wanted.has(source_id)
      const ends = ({ target_id }: { target_id: string }) => direction !== 'outgoing' && wanted.has(target_id)
      return (await read([...sources]))
        .flatMap(({ record }) => edgesOf(record))
        .filter((edge) => (starts(edge) || ends(edge)) && (types?.includes(edge.edge_type) ?? true))
        .sort(edgeOrder)
        .slice(0, limit)
    },
  }

  return {
    at_ms,
    now: () => at_ms,
    store: { decisions, edges, keyed: store.keyed },
    read,
    limit,
    noteErased,
    block: () => ({ at: timestamp(at_ms), limits: shown() }),
  }
}

/** The part of a filter that no update changes, for the decisions of a time. */
export const fixedOf = (
  { agent, category, stakes, created_from_ms, created_to_ms }: CountFilter,
  at_ms: number,
): DecisionFilter => ({
  ...(agent !== undefined && { agent }),
  ...(category !== undefined && { category }),
  ...(stakes && { stakes }),
  ...(created_from_ms !== undefined && { created_from_ms }),
  created_to_ms: Math.min(created_to_ms ?? at_ms, at_ms),
})

/** Ids of decisions that were erased after a time, and may have been recorded before it. */
async function erasedSince(keyed: KeyedReader, at_ms: number): Promise<string[]> {
  const found: string[] = []
  const day = timestamp(at_ms).slice(0, 10)
  for await (const page of keyedPages(keyed, erasureCollections.erased))
    for (const { key, value } of page) {
      // An id begins with the day of its decision.
      if (key.slice(0, 10) > day || found.length === maxIds) return found
      if (Date.parse((value as Tombstone).at) > at_ms) found.push(key)
    }
  return found
}

/** The error for an invalid `as_of`. */
export function refused(expected: string, received: string) {
  return invalidParams({ path: 'as_of', message: `expected ${expected}`, expected, received })
}
