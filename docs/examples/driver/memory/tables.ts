/** What the memory store holds. Values are never changed in place: a transaction replaces them. */
import {
  type DecisionRecord,
  type Edge,
  filterFields,
  type Generation,
  type KeyedRecord,
  type RecordText,
  type StoredAuditEntry,
  type StoredDecision,
  type StoredText,
  type UnplacedAct,
  type VectorSet,
} from '@cstp/client/storage'

export interface DecisionRow {
  /** The record as JSON, so that nobody's later change reaches it. */
  document: string
  revision: number
  seq: number
  source_key: string | null
  terms: string
  edges: Edge[]
}

export interface Tables {
  decisions: Map<string, DecisionRow>
  /** Erased ids, each with the number of its change. */
  erased: Map<string, number>
  /** Ids by source key. */
  sources: Map<string, string>
  generations: Map<number, Generation>
  /** By generation and id. */
  embeddings: Map<string, VectorSet>
  /** By collection and key. */
  keyed: Map<string, KeyedRecord & { collection: string }>
  audit: Map<number, StoredAuditEntry>
  /** By `record_id`, in the order in which they were added. */
  acts: Map<string, UnplacedAct>
  counters: Map<'seq' | 'generation' | 'audit', number>
}

type Over<T> = { [K in keyof T]: T[K] extends Map<infer Key, infer Value> ? Layer<Key, Value> : never }
/** The tables as a transaction sees and changes them. */
export type Layers = Over<Tables>
/** What reads need: a {@link Layers} or the committed tables. */
export type Readable = { [K in keyof Tables]: Pick<Table<KeyOf<Tables[K]>, ValueOf<Tables[K]>>, 'get' | 'entries'> }
type KeyOf<T> = T extends Map<infer K, unknown> ? K : never
type ValueOf<T> = T extends Map<never, infer V> ? V : T extends Map<infer _K, infer V> ? V : never

export function emptyTables(): Tables {
  return {
    decisions: new Map(),
    erased: new Map(),
    sources: new Map(),
    generations: new Map(),
    embeddings: new Map(),
    keyed: new Map(),
    audit: new Map(),
    acts: new Map(),
    counters: new Map(),
  }
}

export function layersOver(tables: Tables): Layers {
  return {
    decisions: layer(tables.decisions),
    erased: layer(tables.erased),
    sources: layer(tables.sources),
    generations: layer(tables.generations),
    embeddings: layer(tables.embeddings),
    keyed: layer(tables.keyed),
    audit: layer(tables.audit),
    acts: layer(tables.acts),
    counters: layer(tables.counters),
  }
}

/** The next number of a counter, from 1. */
export function count(layers: Layers, counter: Parameters<Layers['counters']['get']>[0]): number {
  const next = (layers.counters.get(counter) ?? 0) + 1
  layers.counters.set(counter, next)
  return next
}

/** A decision as reads return it: the text of its record, and the fields that need no parsing. */
export function textOf(record: DecisionRecord): RecordText {
  const { id, agent, created_ms } = filterFields(record, true)
  return { id, agent, created_ms, json: JSON.stringify(record) }
}

export const vectorKey = (generation: number, id: string): string => `${generation}/${id}`

export function generationIn(tables: Pick<Readable, 'generations'>, state: Generation['state']): Generation | null {
  for (const [, generation] of tables.generations.entries()) if (generation.state === state) return generation
  return null
}

export function storedDecision(tables: Readable, id: string): StoredDecision | null {
  const row = tables.decisions.get(id)
  if (row === undefined) return null
  const active = generationIn(tables, 'active')
  const indexed = active !== null && tables.embeddings.get(vectorKey(active.number, id)) !== undefined
  return { record: JSON.parse(row.document), revision: row.revision, indexed }
}

export const storedTexts = (tables: Readable, ids: readonly string[]): StoredText[] =>
  ids.flatMap((id) => {
    const found = storedDecision(tables, id)
    return found === null ? [] : { ...textOf(found.record), revision: found.revision, indexed: found.indexed }
  })

export const ofSource = ({ sources }: Pick<Readable, 'sources'>, source_key: string): string[] => {
  const id = sources.get(source_key)
  return id === undefined ? [] : [id]
}

// A map with a layer of changes on top, which a transaction either lays down or throws away.

export interface Table<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
  entries(): Iterable<[K, V]>
}

export interface Layer<K, V> extends Table<K, V> {
  /** Keys that were set or deleted. */
  changed(): Iterable<K>
  /** Makes the changes part of the map below. */
  commit(): void
}

export function layer<K, V>(below: Map<K, V>): Layer<K, V> {
  const changes = new Map<K, V | undefined>()
  return {
    get: (key) => (changes.has(key) ? changes.get(key) : below.get(key)),
    set: (key, value) => void changes.set(key, value),
    delete: (key) => void changes.set(key, undefined),
    *entries() {
      for (const [key, value] of below) if (!changes.has(key)) yield [key, value]
      for (const [key, value] of changes) if (value !== undefined) yield [key, value]
    },
    changed: () => changes.keys(),
    commit() {
      for (const [key, value] of changes) {
        if (value === undefined) below.delete(key)
        else below.set(key, value)
      }
    },
  }
}
