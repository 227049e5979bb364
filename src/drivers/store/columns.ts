/** What decisions are counted by, as small numbers by slot: counting a hundred thousand takes a millisecond, not a map of text for each. */
import { compareText } from '../../../sdk/storage/fields.ts'
import type { CountKey, DecisionFields, OutcomeGroup } from '../../../sdk/storage/store.ts'

const dayMs = 86_400_000

/** Values with their numbers, and the number of each slot; −1 for null. */
function column<V extends string | number>() {
  const numbers = new Map<V, number>()
  const values: V[] = []
  let codes = new Int32Array(1_024)
  return {
    values,
    codes: () => codes,
    number(value: V): number {
      const known = numbers.get(value)
      if (known !== undefined) return known
      numbers.set(value, values.length)
      return values.push(value) - 1
    },
    set(slot: number, value: V | null) {
      if (slot >= codes.length) {
        const grown = new Int32Array(2 * Math.max(slot, codes.length))
        grown.set(codes)
        codes = grown
      }
      codes[slot] = value === null ? -1 : this.number(value)
    },
  }
}

/** Slots in which a decision stands that passes. */
export type Visit = (each: (slot: number) => void) => void

export interface Columns {
  put(slot: number, fields: DecisionFields): void
  /** Forgets the tags of a slot that is freed. */
  remove(slot: number): void
  /** @param visit null for all decisions */
  countBy(visit: Visit | null, by: CountKey): { value: string; count: number }[]
  outcomes(visit: Visit): OutcomeGroup[]
  outcomesBy(visit: Visit, by: 'category' | 'agent'): { value: string; groups: OutcomeGroup[] }[]
}

/** @param every visits all slots in use */
export function columns(every: Visit): Columns {
  const texts = {
    category: column<string>(),
    stakes: column<string>(),
    status: column<string>(),
    outcome: column<string>(),
    agent: column<string>(),
    project: column<string>(),
  }
  const days = column<number>()
  const tags = column<string>()
  const tagsOf: number[][] = []
  /** Decisions by number of the tag: a decision has several, so that counting them anew takes longest. */
  const tagTotals: number[] = []
  const setTags = (slot: number, numbers: number[]): void => {
    for (const number of tagsOf[slot] ?? []) tagTotals[number]!--
    for (const number of numbers) tagTotals[number] = (tagTotals[number] ?? 0) + 1
    tagsOf[slot] = numbers
  }
  const scored = column<string>()
  /** The group that a number of `scored` stands for, without its count. */
  const groups: Omit<OutcomeGroup, 'count'>[] = []

  const groupsOf = (counts: Uint32Array): OutcomeGroup[] =>
    groups
      .flatMap((group, number) => (counts[number] ? [{ ...group, count: counts[number] }] : []))
      .sort(
        (a, b) =>
          a.confidence - b.confidence ||
          compareText(a.outcome ?? '', b.outcome ?? '') ||
          compareText(a.attribution_basis ?? '', b.attribution_basis ?? ''),
      )

  return {
    put(slot, fields) {
      for (const key of ['category', 'stakes', 'status', 'outcome', 'agent', 'project'] as const)
        texts[key].set(slot, fields[key])
      days.set(slot, Math.floor(fields.created_ms / dayMs))
      setTags(
        slot,
        [...new Set(fields.tags)].map((tag) => tags.number(tag)),
      )
      const { outcome, attribution_basis } = fields
      const confidence = fields.confidence_at_review ?? fields.confidence
      scored.set(slot, `${confidence} ${outcome} ${attribution_basis}`)
      groups[scored.codes()[slot]!] ??= { confidence, outcome, attribution_basis }
    },
    remove: (slot) => setTags(slot, []),
    countBy(visit, by) {
      const own = by === 'tag' ? tags : by === 'day' ? days : texts[by]
      const counts = new Uint32Array(own.values.length)
      if (by === 'tag' && visit === null) counts.set(tagTotals)
      else if (by === 'tag') {
        visit!((slot) => {
          for (const number of tagsOf[slot]!) counts[number]!++
        })
      } else {
        const codes = own.codes()
        // A number of −1 is no index: it counts nowhere.
        ;(visit ?? every)((slot) => counts[codes[slot]!]!++)
      }
      const entries = own.values.flatMap((value, number) => {
        const text = typeof value === 'number' ? new Date(value * dayMs).toISOString().slice(0, 10) : value
        return counts[number] ? [{ value: text, count: counts[number] }] : []
      })
      return by === 'day'
        ? entries.sort((a, b) => compareText(a.value, b.value))
        : entries.sort((a, b) => b.count - a.count || compareText(a.value, b.value))
    },
    outcomes(visit) {
      const counts = new Uint32Array(groups.length)
      const codes = scored.codes()
      visit((slot) => counts[codes[slot]!]!++)
      return groupsOf(counts)
    },
    outcomesBy(visit, by) {
      const { values, codes } = texts[by]
      const [of, group] = [codes(), scored.codes()]
      const parts: (Uint32Array | undefined)[] = []
      visit((slot) => {
        const number = of[slot]!
        parts[number] ??= new Uint32Array(groups.length)
        parts[number][group[slot]!]!++
      })
      return parts
        .flatMap((counts, number) => (counts ? [{ value: values[number]!, groups: groupsOf(counts) }] : []))
        .sort((a, b) => compareText(a.value, b.value))
    },
  }
}
