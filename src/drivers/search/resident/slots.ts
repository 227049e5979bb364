/** Decisions by slot: a small number for each, under which its fields, terms and vectors are kept. */
import type { DecisionFields } from '../../../../sdk/storage/store.ts'

export function openSlots() {
  const slots = new Map<string, number>()
  const rows: (DecisionFields | null)[] = []
  const free: number[] = []
  let indexed = 0

  // Many decisions share few values: kept once each, they take less memory and compare faster.
  const texts = new Map<string, string>()
  function shared<T extends string | null>(text: T): T {
    if (text === null) return text
    const known = texts.get(text)
    if (known !== undefined) return known as T
    texts.set(text, text)
    return text
  }

  return {
    get count() {
      return slots.size
    },
    /** How many have vectors. */
    get indexed() {
      return indexed
    },
    /** Every slot in use is below it. */
    get end() {
      return rows.length
    },
    of: (id: string) => slots.get(id),
    /** Null for a slot that is free. */
    at: (slot: number): DecisionFields | null => rows[slot] ?? null,
    put(id: string, fields: DecisionFields): number {
      const slot = slots.get(id) ?? free.pop() ?? rows.length
      slots.set(id, slot)
      indexed += Number(fields.indexed) - Number(rows[slot]?.indexed ?? false)
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
    remove(id: string): number | undefined {
      const slot = slots.get(id)
      if (slot === undefined) return undefined
      slots.delete(id)
      indexed -= Number(rows[slot]!.indexed)
      rows[slot] = null
      free.push(slot)
      return slot
    },
  }
}
