/**
 * What the tail hides in the segments: a changed or erased decision is in the tail, and its former text must not count. Which of
 * the tail's decisions are in a segment is looked up in batches, when a search needs it.
 */
import type { Corpus } from '../resident/keywords.ts'
import { allOf } from './gate.ts'
import type { Text } from './reader.ts'
import type { Segment } from './segment.ts'
import { count } from './words.ts'

/** A decision of a segment that the tail hides. */
export interface Hidden extends Text {
  segment: Segment
}

export function openShadow() {
  let unknown = new Set<string>()
  let hidden = new Map<string, Hidden>()
  let known = new Set<string>()
  let counts = new Map<string, number>()
  let sums = { decisions: 0, indexed: 0, length: 0 }
  let looking: Promise<void> = Promise.resolve()

  async function look(segments: readonly Segment[]): Promise<void> {
    if (unknown.size === 0) return
    const ids = [...unknown]
    const found = segments.length === 0 ? [] : await allOf(segments.map((segment) => segment.texts(ids)))
    found.forEach((texts, at) => {
      for (const text of texts) {
        hidden.set(text.id, { ...text, segment: segments[at]! })
        count(counts, text.terms, 1)
        sums.decisions++
        sums.indexed += Number(text.indexed)
        sums.length += text.length
      }
    })
    for (const id of ids) {
      unknown.delete(id)
      known.add(id)
    }
  }

  return {
    /** The tail now holds a change of this decision. */
    add(id: string): void {
      if (!known.has(id)) unknown.add(id)
    },
    /** Looks up decisions that are not known yet. */
    settle(segments: readonly Segment[]): Promise<void> {
      looking = looking.catch(() => {}).then(() => look(segments))
      return looking
    },
    /** Forgets everything: the segments have changed, and the tail holds these decisions. */
    reset(ids: Iterable<string>): void {
      unknown = new Set(ids)
      hidden = new Map()
      known = new Set()
      counts = new Map()
      sums = { decisions: 0, indexed: 0, length: 0 }
    },
    sums: () => sums,
    hidden: (): Iterable<Hidden> => hidden.values(),
    /** The hidden decisions of one segment. */
    of: (segment: Segment): Hidden[] => [...hidden.values()].filter((one) => one.segment === segment),
    holding: (term: string): number => counts.get(term) ?? 0,
    /** The counts of the segments for these terms, without hidden decisions. */
    async rest(segments: readonly Segment[], terms: readonly string[]): Promise<Corpus> {
      const frequencies = await allOf(segments.map((segment) => segment.frequencies(terms)))
      const sum = (of: 'decisions' | 'length') => segments.reduce((all, { facts }) => all + facts[of], -sums[of])
      return {
        decisions: sum('decisions'),
        length: sum('length'),
        holding: terms.map((term, at) => frequencies.reduce((all, one) => all + one[at]!, -(counts.get(term) ?? 0))),
      }
    },
  }
}
