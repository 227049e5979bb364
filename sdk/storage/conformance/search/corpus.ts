/** Generated entries for the search suite, the same on every run, with values that break a careless filter. */
import {
  decisionFields,
  decisionFilters,
  type Field,
  type FieldType,
  type FilterName,
} from '../../../schema/decision-fields.ts'
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
const numbers = [1, 2, 47, Number.MAX_SAFE_INTEGER]
const confidences = [0, 1e-7, 0.1, 0.30000000000000004, 0.5, 0.85, 1]
const times = [-1, 0, 1_767_225_600_000, 1_767_225_600_001, 1_798_761_599_999]

function pick<T>(next: () => number, values: readonly T[]): T {
  return values[Math.floor(next() * values.length)]!
}

/** A random value of each neutral type. */
const made: { [T in FieldType]: (next: () => number) => unknown } = {
  text: (next) => pick(next, names),
  texts: (next) => names.filter(() => next() < 0.15),
  integer: (next) => pick(next, numbers),
  real: (next) => pick(next, confidences),
  time: (next) => pick(next, times),
  boolean: (next) => next() < 0.5,
}

const randomValue = ({ type, values }: Field, next: () => number): unknown =>
  values === undefined ? made[type](next) : pick(next, values)

/** Random values of all declared fields. */
export function fields(id: string, next: () => number): DecisionFields {
  const values = Object.entries<Field>(decisionFields).map(([name, field]) => [
    name,
    field.nullable && next() < 0.3 ? null : randomValue(field, next),
  ])
  return { ...Object.fromEntries(values), id, indexed: true }
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

/** A random operand of a filter. */
function operand(name: FilterName, next: () => number): unknown {
  const { field, operator } = decisionFilters[name]
  const declared: Field = decisionFields[field]
  return operator === 'in' ? (declared.values ?? names).filter(() => next() < 0.5) : randomValue(declared, next)
}

/** A filter with these members and random values. */
export function filterOf(chosen: readonly FilterName[], next: () => number): DecisionFilter {
  return Object.fromEntries(chosen.map((name) => [name, operand(name, next)]))
}
