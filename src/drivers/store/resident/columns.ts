/** What decisions are counted by, as small numbers by slot: counting a hundred thousand takes a millisecond, not a map of text for each. */

import { compareText, scoredValue } from '../../../../sdk/storage/fields.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type {
  CountFilter,
  CountKey,
  DecisionFields,
  DecisionFilter,
  OutcomeGroup,
  ScoreSum,
  TimedOutcomeGroup,
} from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import { edgesUpTo, groupOrder } from '../shared.ts'
import { column, numberColumn, selection } from './selection.ts'

export interface Columns {
  put(slot: number, fields: DecisionFields): void
  remove(slot: number): void
  /** 1 for each slot that passes; valid until the next call of anything here. */
  passing(filter: CountFilter): Uint8Array
  /** `created_ms` by slot. */
  created(): Float64Array
  countBy(filter: DecisionFilter, by: CountKey): { value: string; count: number }[]
  outcomes(filter: CountFilter): OutcomeGroup[]
  outcomesOver(
    filter: DecisionFilter,
    edges: { created_ms: readonly number[]; reviewed_ms: readonly number[] },
  ): TimedOutcomeGroup[]
  outcomesBy(filter: DecisionFilter, by: 'category' | 'agent'): { value: string; groups: OutcomeGroup[] }[]
  scores(filter: DecisionFilter): ScoreSum[]
}

/** @param at the fields of a slot in use */
export function columns(at: (slot: number) => DecisionFields | undefined): Columns {
  const texts = {
    category: column<string>(),
    stakes: column<string>(),
    status: column<string>(),
    outcome: column<string>(),
    agent: column<string>(),
    project: column<string>(),
  }
  const selected = selection(texts)
  const passing = (filter: CountFilter) => selected.passing(filter, at)
  const days = column<number>()
  const tags = column<string>()
  const tagsOf: number[][] = []
  /** Decisions by number of the tag: a decision has several, so that counting them takes longest. */
  const tagTotals: number[] = []
  const setTags = (slot: number, numbers: number[]): void => {
    for (const number of tagsOf[slot] ?? []) tagTotals[number]!--
    for (const number of numbers) tagTotals[number] = (tagTotals[number] ?? 0) + 1
    tagsOf[slot] = numbers
  }
  /** Not a number for what was never reviewed. */
  const reviewed = numberColumn()
  const scored = column<string>()
  /** The group that a number of `scored` stands for, without its count. */
  const groups: Omit<OutcomeGroup, 'count'>[] = []
  /** The scored value of each of these groups; not a number if it enters no score. */
  const values: number[] = []
  const parts = column<string>()
  /** The agent, category and stakes that a number of `parts` stands for. */
  const partOf: Pick<ScoreSum, 'agent' | 'category' | 'stakes'>[] = []

  const groupsOf = (counts: Uint32Array): OutcomeGroup[] =>
    groups.flatMap((group, number) => (counts[number] ? [{ ...group, count: counts[number] }] : [])).sort(groupOrder)

  return {
    passing,
    created: selected.created,
    put(slot, fields) {
      selected.put(slot, fields)
      for (const key of ['category', 'stakes', 'status', 'outcome', 'agent', 'project'] as const)
        texts[key].set(slot, fields[key])
      reviewed.set(slot, fields.reviewed_ms ?? Number.NaN)
      days.set(slot, Math.floor(fields.created_ms / dayMs))
      setTags(
        slot,
        [...new Set(fields.tags)].map((tag) => tags.number(tag)),
      )
      const { outcome, settled_by, confidence_at_record: confidence } = fields
      scored.set(slot, `${confidence} ${outcome} ${settled_by}`)
      const group = scored.codes()[slot]!
      groups[group] ??= { confidence, outcome, settled_by }
      values[group] ??= scoredValue(groups[group]) ?? Number.NaN
      const { agent, category, stakes } = fields
      parts.set(slot, `${agent}\0${category ?? '\0'}\0${stakes}`)
      partOf[parts.codes()[slot]!] ??= { agent, category, stakes }
    },
    remove(slot) {
      selected.remove(slot)
      setTags(slot, [])
    },
    countBy(filter, by) {
      const own = by === 'tag' ? tags : by === 'day' ? days : texts[by]
      const counts = new Uint32Array(own.values.length)
      if (by === 'tag' && isEmptyFilter(filter)) counts.set(tagTotals)
      else {
        const mask = passing(filter)
        const codes = own.codes()
        for (let slot = 0; slot < mask.length; slot++) {
          if (mask[slot] === 0) continue
          if (by === 'tag') for (const number of tagsOf[slot]!) counts[number]!++
          // A number of −1 is no index: it counts nowhere.
          else counts[codes[slot]!]!++
        }
      }
      const entries = own.values.flatMap((value, number) => {
        const text = typeof value === 'number' ? new Date(value * dayMs).toISOString().slice(0, 10) : value
        return counts[number] ? [{ value: text, count: counts[number] }] : []
      })
      return by === 'day'
        ? entries.sort((a, b) => compareText(a.value, b.value))
        : entries.sort((a, b) => b.count - a.count || compareText(a.value, b.value))
    },
    outcomes(filter) {
      const counts = new Uint32Array(groups.length)
      const mask = passing(filter)
      const codes = scored.codes()
      for (let slot = 0; slot < mask.length; slot++) if (mask[slot] === 1) counts[codes[slot]!]!++
      return groupsOf(counts)
    },
    outcomesOver(filter, edges) {
      const mask = passing(filter)
      const [codes, created, at] = [scored.codes(), selected.created(), reviewed.numbers()]
      const [createdEdges, reviewedEdges] = [Float64Array.from(edges.created_ms), Float64Array.from(edges.reviewed_ms)]
      const [createdSpans, reviewedSpans] = [createdEdges.length + 1, reviewedEdges.length + 1]
      const counts = new Map<number, number>()
      for (let slot = 0; slot < mask.length; slot++) {
        if (mask[slot] === 0 || Number.isNaN(at[slot]!) || groups[codes[slot]!]!.outcome === null) continue
        const span = codes[slot]! * createdSpans + edgesUpTo(createdEdges, created[slot]!)
        const key = span * reviewedSpans + edgesUpTo(reviewedEdges, at[slot]!)
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
      return [...counts]
        .map(([key, count]) => {
          const span = Math.floor(key / reviewedSpans)
          const group = groups[Math.floor(span / createdSpans)]!
          return { ...group, created: span % createdSpans, reviewed: key % reviewedSpans, count }
        })
        .sort((a, b) => groupOrder(a, b) || a.created - b.created || a.reviewed - b.reviewed)
    },
    outcomesBy(filter, by) {
      const { values, codes } = texts[by]
      const [of, group] = [codes(), scored.codes()]
      const mask = passing(filter)
      const parts: (Uint32Array | undefined)[] = []
      for (let slot = 0; slot < mask.length; slot++) {
        if (mask[slot] === 0) continue
        const number = of[slot]!
        parts[number] ??= new Uint32Array(groups.length)
        parts[number][group[slot]!]!++
      }
      return parts
        .flatMap((counts, number) => (counts ? [{ value: values[number]!, groups: groupsOf(counts) }] : []))
        .sort((a, b) => compareText(a.value, b.value))
    },
    scores(filter) {
      const [counts, confidence, value] = [0, 0, 0].map(() => new Float64Array(partOf.length)) as [
        Float64Array,
        Float64Array,
        Float64Array,
      ]
      const stated = Float64Array.from(groups, (group) => group.confidence ?? Number.NaN)
      const worth = Float64Array.from(values)
      const [part, group] = [parts.codes(), scored.codes()]
      const mask = passing(filter)
      for (let slot = 0; slot < mask.length; slot++) {
        if (mask[slot] === 0) continue
        const own = group[slot]!
        // Not a number: it enters no score.
        if (!(worth[own]! >= 0)) continue
        const at = part[slot]!
        counts[at]!++
        confidence[at]! += stated[own]!
        value[at]! += worth[own]!
      }
      return partOf.flatMap((of, at) =>
        counts[at] ? [{ ...of, count: counts[at], confidence: confidence[at]!, value: value[at]! }] : [],
      )
    },
  }
}
