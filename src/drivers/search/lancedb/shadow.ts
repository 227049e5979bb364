/**
 * What the tail hides in the segments: a decision that changed or went is in the tail, and its former text must count nowhere. Which of
 * the tail's decisions are in a segment is looked up when a search needs to know, many at once.
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
    /** The tail holds a change of this decision now. */
    add(id: string): void {
      if (!known.has(id)) unknown.add(id)
    },
    /** Looks up what is not known yet. */
    settle(segments: readonly Segment[]): Promise<void> {
      looking = looking.catch(() => {}).then(() => look(segments))
      return looking
    },
    /** Forgets everything: there are other segments, and the tail holds these. */
    reset(ids: Iterable<string>): void {
      unknown = new Set(ids)
      hidden = new Map()
      known = new Set()
      counts = new Map()
      sums = { decisions: 0, indexed: 0, length: 0 }
    },
    sums: () => sums,
    hidden: (): Iterable<Hidden> => hidden.values(),
    /** Those of one segment. */
    of: (segment: Segment): Hidden[] => [...hidden.values()].filter((one) => one.segment === segment),
    holding: (term: string): number => counts.get(term) ?? 0,
    /** What of the segments counts for these terms. */
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
