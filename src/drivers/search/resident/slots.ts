/** Slots of decisions: small numbers that identify their fields, terms and vectors. */
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionFilter } from '../../../../sdk/storage/store.ts'
import { enlarged } from '../../../core/enlarged.ts'

export function openSlots() {
  const slots = new Map<string, number>()
  const rows: (DecisionFields | null)[] = []
  const free: number[] = []
  let indexed = 0

  // Many decisions share few values. Storing each value once saves memory and makes comparisons faster.
  const texts = new Map<string, string>()
  function shared<T extends string | null>(text: T): T {
    if (text === null) return text
    const known = texts.get(text)
    if (known !== undefined) return known as T
    texts.set(text, text)
    return text
  }

  // Rules ask for decisions with certain outcomes in a span of time. Only slots with these outcomes are visited, and times are compared first.
  /** For each slot, the index of its outcome in `known` plus one; 0 if the slot is not indexed. */
  let outcomes = new Uint8Array(1 << 10)
  let created = new Float64Array(1 << 10)
  const known: DecisionFields['outcome'][] = []
  /** The slots of each outcome in `known`, and the place of each slot in its list. */
  const lists: number[][] = []
  let places = new Int32Array(1 << 10)
  function outcomeOf({ indexed, outcome }: DecisionFields): number {
    if (!indexed) return 0
    const at = known.indexOf(outcome)
    if (at >= 0) return at + 1
    lists.push([])
    return known.push(outcome)
  }
  function setOutcome(slot: number, outcome: number): void {
    const before = outcomes[slot]!
    if (before === outcome) return
    outcomes[slot] = outcome
    if (before > 0) {
      const list = lists[before - 1]!
      const last = list.pop()!
      if (last !== slot) {
        list[places[slot]!] = last
        places[last] = places[slot]!
      }
    }
    if (outcome > 0) places[slot] = lists[outcome - 1]!.push(slot) - 1
  }

  return {
    get count() {
      return slots.size
    },
    /** How many decisions have vectors. */
    get indexed() {
      return indexed
    },
    /** Every slot in use is below this number. */
    get end() {
      return rows.length
    },
    of: (id: string) => slots.get(id),
    /** Null for a free slot. */
    at: (slot: number): DecisionFields | null => rows[slot] ?? null,
    put(id: string, fields: DecisionFields): number {
      const slot = slots.get(id) ?? free.pop() ?? rows.length
      slots.set(id, slot)
      indexed += Number(fields.indexed) - Number(rows[slot]?.indexed ?? false)
      if (slot >= outcomes.length) {
        outcomes = enlarged(outcomes, slot * 2)
        places = enlarged(places, slot * 2)
        created = enlarged(created, slot * 2)
      }
      setOutcome(slot, outcomeOf(fields))
      created[slot] = fields.created_ms
      rows[slot] = {
        ...fields,
        category: shared(fields.category),
        stakes: shared(fields.stakes),
        status: shared(fields.status),
        outcome: shared(fields.outcome),
        project: shared(fields.project),
        feature: shared(fields.feature),
        agent: shared(fields.agent),
        settled_by: shared(fields.settled_by),
        tags: fields.tags.map(shared),
      }
      return slot
    },
    /** Indexed slots that pass a filter. */
    passing({ outcome, created_from_ms, created_to_ms, ...others }: DecisionFilter): number[] {
      const passes = isEmptyFilter(others) ? null : compileFilter(others)
      const [from, to] = [created_from_ms ?? Number.NEGATIVE_INFINITY, created_to_ms ?? Number.POSITIVE_INFINITY]
      const passed: number[] = []
      known.forEach((one, at) => {
        if (outcome !== undefined && (one === null || !outcome.includes(one))) return
        for (const slot of lists[at]!) {
          const at_ms = created[slot]!
          if (at_ms >= from && at_ms <= to && (passes === null || passes(rows[slot]!))) passed.push(slot)
        }
      })
      return passed
    },
    remove(id: string): number | undefined {
      const slot = slots.get(id)
      if (slot === undefined) return undefined
      slots.delete(id)
      indexed -= Number(rows[slot]!.indexed)
      rows[slot] = null
      setOutcome(slot, 0)
      free.push(slot)
      return slot
    },
  }
}
