/** Filters by columns: one field of all decisions by slot, as small numbers, so that a hundred thousand are compared in a fraction of a millisecond. */
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { CountFilter, DecisionFields } from '../../../../sdk/storage/store.ts'

/** The same with room for `slot`. */
export function withRoom<A extends Int32Array | Float64Array | Uint8Array>(values: A, slot: number): A {
  if (slot < values.length) return values
  const grown = new (values.constructor as new (length: number) => A)(2 * Math.max(slot, values.length))
  grown.set(values)
  return grown
}

/** Values with their numbers, and the number of each slot; −1 for null. */
export function column<V extends string | number>() {
  const numbers = new Map<V, number>()
  const values: V[] = []
  let codes = new Int32Array(1_024)
  const number = (value: V): number => {
    const known = numbers.get(value)
    if (known !== undefined) return known
    numbers.set(value, values.length)
    return values.push(value) - 1
  }
  return {
    values,
    codes: () => codes,
    number,
    /** −2 for a value that no decision ever had: it is not that of null. */
    known: (value: V): number => numbers.get(value) ?? -2,
    set(slot: number, value: V | null) {
      codes = withRoom(codes, slot)
      codes[slot] = value === null ? -1 : number(value)
    },
  }
}

/** Numbers by slot, as they are. */
export function numberColumn() {
  let numbers = new Float64Array(1_024)
  return {
    numbers: () => numbers,
    set(slot: number, value: number) {
      numbers = withRoom(numbers, slot)
      numbers[slot] = value
    },
  }
}

// Which slots pass a filter: one typed array after the other, so that no decision is looked at that an earlier member left out.

type TextColumn = ReturnType<typeof column<string>>
type Named = Record<'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'project', TextColumn>

export interface Selection {
  put(slot: number, fields: DecisionFields): void
  remove(slot: number): void
  /** `created_ms` by slot. */
  created(): Float64Array
  /** 1 for each slot that passes. Valid until the next call; what a filter can't see here is left to `at`. */
  passing(filter: CountFilter, at: (slot: number) => DecisionFields | undefined): Uint8Array
}

export function selection(texts: Named): Selection {
  let live: Uint8Array = new Uint8Array(1_024)
  let mask: Uint8Array = new Uint8Array(0)
  let slots = 0
  const created = numberColumn()
  const due = numberColumn()
  const preserved = numberColumn()

  function keepEqual({ codes, known }: TextColumn, value: string | undefined): void {
    if (value === undefined) return
    const [of, wanted] = [codes(), known(value)]
    for (let slot = 0; slot < slots; slot++) if (of[slot] !== wanted) mask[slot] = 0
  }

  function keepWhere({ codes, values }: TextColumn, wanted: (value: string) => boolean): void {
    const allowed = Uint8Array.from(values, (value) => (wanted(value) ? 1 : 0))
    const of = codes()
    // A number of −1 is no index: null is never among the wanted.
    for (let slot = 0; slot < slots; slot++) if (allowed[of[slot]!] !== 1) mask[slot] = 0
  }

  function keepAny(column: TextColumn, wanted: readonly string[] | undefined): void {
    if (wanted !== undefined) keepWhere(column, (value) => wanted.includes(value))
  }

  function keepAlike(column: TextColumn, look: string | undefined): void {
    if (look !== undefined) keepWhere(column, (value) => skeleton(value) === look)
  }

  function keepBetween(numbers: Float64Array, from: number | undefined, to: number | undefined): void {
    if (from !== undefined) for (let slot = 0; slot < slots; slot++) if (!(numbers[slot]! >= from)) mask[slot] = 0
    if (to !== undefined) for (let slot = 0; slot < slots; slot++) if (!(numbers[slot]! <= to)) mask[slot] = 0
  }

  return {
    created: created.numbers,
    put(slot, { created_ms, review_by_ms, preserve }) {
      live = withRoom(live, slot)
      live[slot] = 1
      slots = Math.max(slots, slot + 1)
      created.set(slot, created_ms)
      due.set(slot, review_by_ms)
      preserved.set(slot, Number(preserve))
    },
    remove(slot) {
      live[slot] = 0
    },
    passing(filter, at) {
      if (isEmptyFilter(filter)) return live.subarray(0, slots)
      if (mask.length < slots) mask = new Uint8Array(live.length)
      mask.set(live.subarray(0, slots))
      const { category, agent, project, stakes, status, outcome, created_from_ms, created_to_ms, ...others } = filter
      const { review_by_to_ms, preserve, alike, ...more } = others
      const { category: category_look, project: project_look, ...alike_more } = alike ?? {}
      const rest: CountFilter = Object.values(alike_more).some((look) => look !== undefined)
        ? { ...more, alike: alike_more }
        : more
      keepEqual(texts.category, category)
      keepEqual(texts.agent, agent)
      keepEqual(texts.project, project)
      keepAlike(texts.category, category_look)
      keepAlike(texts.project, project_look)
      keepAny(texts.stakes, stakes)
      keepAny(texts.status, status)
      keepAny(texts.outcome, outcome)
      keepBetween(created.numbers(), created_from_ms, created_to_ms)
      keepBetween(due.numbers(), undefined, review_by_to_ms)
      if (preserve !== undefined) keepBetween(preserved.numbers(), Number(preserve), Number(preserve))
      if (!isEmptyFilter(rest)) {
        const passes = compileFilter(rest)
        for (let slot = 0; slot < slots; slot++) if (mask[slot] === 1 && !passes(at(slot)!)) mask[slot] = 0
      }
      return mask.subarray(0, slots)
    },
  }
}
