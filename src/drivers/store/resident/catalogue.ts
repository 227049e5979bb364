/** The filter fields of all decisions, resident: filters, lists, counts and id prefixes without a look at the disk. */

import { confidenceRank, fieldsOrder } from '../../../../sdk/storage/fields.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type {
  CountFilter,
  CountKey,
  DecisionFields,
  DecisionFilter,
  DecisionReader,
  DecisionSort,
  OutcomeGroup,
} from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import { top } from '../../shared/top.ts'
import { type Columns, columns } from './columns.ts'
import { ranks } from './ranks.ts'
import { withRoom } from './selection.ts'
import { sortedIds } from './sorted-ids.ts'

const byTime = fieldsOrder('created_at', 'asc')

/** From here on all rows are put in part instead of the first ones in order: a heap of so many costs more. */
const deep = 1_000
const groupOf =
  (sort: DecisionSort) =>
  (row: DecisionFields): string | number =>
    sort === 'created_at'
      ? Math.floor(row.created_ms / dayMs)
      : sort === 'confidence'
        ? confidenceRank(row.confidence)
        : (row[sort] ?? '')

export interface Catalogue {
  readonly size: number
  /** How many hold no vectors. */
  readonly unindexed: number
  isUnindexed(slot: number): boolean
  /** Number under which the decision is kept, for as long as it is. */
  slotOf(id: string): number | undefined
  at(slot: number): DecisionFields | undefined
  /** Adds or replaces; returns the slot. */
  put(fields: DecisionFields): number
  /** Returns the slot that was freed; it is not used again. */
  remove(id: string): number | undefined
  findIds(prefix: string, limit: number): string[]
  list(query: {
    filter: DecisionFilter
    /** Look at these only. */
    ids?: readonly string[]
    sort: DecisionSort
    order: 'asc' | 'desc'
    offset: number
    limit: number
  }): { ids: string[]; total: number }
  walk(...query: Parameters<DecisionReader['walk']>): DecisionFields[]
  count(filter: CountFilter): number
  countBy(filter: DecisionFilter, by: CountKey): { value: string; count: number }[]
  outcomes(filter: CountFilter): OutcomeGroup[]
  outcomesOver: Columns['outcomesOver']
  outcomesBy(filter: DecisionFilter, by: 'category' | 'agent'): { value: string; groups: OutcomeGroup[] }[]
  scores: Columns['scores']
}

export function catalogue(): Catalogue {
  const rows: (DecisionFields | undefined)[] = []
  const slots = new Map<string, number>()
  let vectorless: Uint8Array = new Uint8Array(1024)
  let unindexed = 0
  const ids = sortedIds()

  // A hundred thousand rows share few values: kept once each, they take less memory and compare in half the time.
  const texts = new Map<string, string>()
  function shared<T extends string | null>(text: T): T {
    if (text === null) return text
    const known = texts.get(text)
    if (known !== undefined) return known as T
    texts.set(text, text)
    return text
  }
  const withShared = (fields: DecisionFields): DecisionFields => ({
    ...fields,
    category: shared(fields.category),
    stakes: shared(fields.stakes),
    status: shared(fields.status),
    outcome: shared(fields.outcome),
    project: shared(fields.project),
    feature: shared(fields.feature),
    agent: shared(fields.agent),
    tags: fields.tags.map(shared),
  })

  function mark(slot: number, missing: 0 | 1): void {
    vectorless = withRoom(vectorless, slot)
    unindexed += missing - vectorless[slot]!
    vectorless[slot] = missing
  }

  const counted = columns((slot) => rows[slot])

  return {
    get size() {
      return slots.size
    },
    get unindexed() {
      return unindexed
    },
    isUnindexed: (slot) => vectorless[slot] === 1,
    slotOf: (id) => slots.get(id),
    at: (slot) => rows[slot],
    put(fields) {
      let slot = slots.get(fields.id)
      if (slot === undefined) {
        slot = rows.length
        slots.set(fields.id, slot)
        ids.add(fields.id)
      }
      const kept = withShared(fields)
      rows[slot] = kept
      counted.put(slot, kept)
      mark(slot, fields.indexed ? 0 : 1)
      return slot
    },
    remove(id) {
      const slot = slots.get(id)
      if (slot === undefined) return undefined
      slots.delete(id)
      ids.remove(id)
      mark(slot, 0)
      rows[slot] = undefined
      counted.remove(slot)
      return slot
    },
    findIds: (prefix, limit) => ids.find(prefix, limit),
    list({ filter, ids: only, sort, order, offset, limit }) {
      const inOrder = fieldsOrder(sort, order)
      const best = offset < deep ? top(offset + limit, inOrder) : null
      const all: DecisionFields[] = []
      const mask = counted.passing(filter)
      const created = sort === 'created_at' ? counted.created() : null
      let total = 0
      const visit = (slot: number) => {
        if (mask[slot] !== 1) return
        total++
        const worst = created && best?.last()
        // Most rows of a list by time are too old or too new: they are told by their time, without a look at the row.
        if (worst && (order === 'asc' ? created[slot]! > worst.created_ms : created[slot]! < worst.created_ms)) return
        const row = rows[slot]!
        if (best) best.offer(row)
        else all.push(row)
      }
      if (only !== undefined)
        for (const id of new Set(only)) {
          const slot = slots.get(id)
          if (slot !== undefined) visit(slot)
        }
      // Slots mostly ascend with time: walked from the end that a list by time begins with, few rows displace another.
      else if (order === 'desc') for (let slot = mask.length - 1; slot >= 0; slot--) visit(slot)
      else for (let slot = 0; slot < mask.length; slot++) visit(slot)
      const page = best ? best.take().slice(offset) : ranks(all, offset, offset + limit, inOrder, groupOf(sort))
      return { ids: page.map((row) => row.id), total }
    },
    walk(filter, after, limit) {
      const { created_from_ms = Number.NEGATIVE_INFINITY } = filter
      const from_ms = Math.max(created_from_ms, after?.created_ms ?? created_from_ms)
      const mask = counted.passing({ ...filter, created_from_ms: from_ms })
      const oldest = top(limit, byTime)
      for (let slot = 0; slot < mask.length; slot++)
        if (mask[slot] === 1 && (after === null || byTime(after, rows[slot]!) < 0)) oldest.offer(rows[slot]!)
      return oldest.take()
    },
    count(filter) {
      const { indexed, ...rest } = filter
      if (isEmptyFilter(rest)) return indexed === undefined ? slots.size : indexed ? slots.size - unindexed : unindexed
      const mask = counted.passing(filter)
      let count = 0
      // By index: an iterator takes thirty times as long.
      for (let slot = 0; slot < mask.length; slot++) count += mask[slot]!
      return count
    },
    countBy: counted.countBy,
    outcomes: counted.outcomes,
    outcomesOver: counted.outcomesOver,
    outcomesBy: counted.outcomesBy,
    scores: counted.scores,
  }
}
