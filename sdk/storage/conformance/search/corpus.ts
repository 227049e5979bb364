/** Generated entries for the search suite, the same on every run, with values that break a careless filter. */
import type { SearchEntry, SearchValue } from '../../search.ts'
import type { DecisionFields, DecisionFilter } from '../../store.ts'
import type { VectorSet } from '../../vectors.ts'

/** Numbers from 0 to 1 that depend only on `seed` (mulberry32). */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function unitVector(next: () => number, dimensions: number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => next() * 2 - 1)
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

export const idOf = (number: number) => `2026-01-01-decision-${number.toString(16).padStart(12, '0')}`

const names = [
  'plain',
  'Plain',
  "o'brien",
  'a"b',
  'back\\slash',
  '100%',
  '_',
  'line\nbreak',
  'nul\0byte',
  "'; drop table x; --",
  '漢字',
  '👩‍🚀',
  ' ',
]
const stakes = ['low', 'medium', 'high', 'critical'] as const
const outcomes = [null, 'success', 'failure', 'partial', 'abandoned'] as const
const numbers = [1, 2, 47, Number.MAX_SAFE_INTEGER]
const confidences = [0, 1e-7, 0.1, 0.30000000000000004, 0.5, 0.85, 1]
const times = [-1, 0, 1_767_225_600_000, 1_767_225_600_001, 1_798_761_599_999]
const maybe = <T>(next: () => number, values: readonly T[]) => (next() < 0.3 ? null : pick(next, values))

function pick<T>(next: () => number, values: readonly T[]): T {
  return values[Math.floor(next() * values.length)]!
}

export function fields(id: string, next: () => number): DecisionFields {
  return {
    id,
    category: pick(next, names),
    confidence: maybe(next, confidences),
    stakes: pick(next, stakes),
    status: pick(next, ['pending', 'reviewed'] as const),
    outcome: pick(next, outcomes),
    project: maybe(next, names),
    feature: maybe(next, names),
    pr: maybe(next, numbers),
    tags: names.filter(() => next() < 0.15),
    agent: pick(next, names),
    created_ms: pick(next, times),
    review_by_ms: pick(next, times),
    reviewed_ms: maybe(next, times),
    confidence_at_record: maybe(next, confidences),
    settled_by: next() < 0.5 ? 'age' : null,
    preserve: next() < 0.5,
    indexed: true,
  }
}

function vectorSet(next: () => number, dimensions: number): VectorSet {
  const structure = unitVector(next, dimensions)
  const purpose = next() < 0.3 ? structure : unitVector(next, dimensions)
  return { structure, function: purpose, both: next() < 0.3 ? structure : unitVector(next, dimensions) }
}

const vocabulary = 'cache queue lock retry batch index schema token shard lease page fence quorum ledger'.split(' ')

/** Words from the start of the vocabulary are common, later ones rare. */
export const wordsOf = (next: () => number): string[] =>
  Array.from({ length: 1 + Math.floor(next() * 12) }, () => vocabulary[Math.floor(next() ** 2 * vocabulary.length)]!)

/** Words as the terms of a text: equal terms are adjacent. */
export const termsOf = (words: readonly string[]): string =>
  [...Map.groupBy(words, (word) => word).values()].flat().join(' ')

export type Entry = SearchEntry & { value: SearchValue }

/** An entry with vectors. */
export function entry(
  number: number,
  next: () => number,
  dimensions: number,
): Entry & { value: { vectors: VectorSet } } {
  const id = idOf(number)
  const vectors = vectorSet(next, dimensions)
  return { id, value: { fields: fields(id, next), terms: termsOf(wordsOf(next)), vectors } }
}

/** The same entry without vectors. */
export const withoutVectors = ({ id, value }: Entry): Entry => ({
  id,
  value: { ...value, fields: { ...value.fields, indexed: false }, vectors: null },
})

type Member = keyof DecisionFilter

/** For each member of a filter, a random value. */
export const members: { [M in Member]-?: (next: () => number) => NonNullable<DecisionFilter[M]> } = {
  category: (next) => pick(next, names),
  min_confidence: (next) => pick(next, confidences),
  max_confidence: (next) => pick(next, confidences),
  stakes: (next) => stakes.filter(() => next() < 0.5),
  status: (next) => (['pending', 'reviewed'] as const).filter(() => next() < 0.6),
  outcome: (next) => (['success', 'failure', 'partial', 'abandoned'] as const).filter(() => next() < 0.5),
  project: (next) => pick(next, names),
  feature: (next) => pick(next, names),
  pr: (next) => pick(next, numbers),
  agent: (next) => pick(next, names),
  tags: (next) => names.filter(() => next() < 0.2),
  created_from_ms: (next) => pick(next, times),
  created_to_ms: (next) => pick(next, times),
  review_by_to_ms: (next) => pick(next, times),
  preserve: (next) => next() < 0.5,
  indexed: (next) => next() < 0.5,
}

export const memberNames = Object.keys(members) as Member[]

/** A filter with these members and random values. */
export function filterOf(chosen: readonly Member[], next: () => number): DecisionFilter {
  return Object.fromEntries(chosen.map((member) => [member, members[member](next)]))
}
