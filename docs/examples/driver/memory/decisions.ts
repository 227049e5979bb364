/** Decisions, edges and embeddings of the memory store, inside a transaction. */
import {
  checkVectors,
  type DecisionRecord,
  type DecisionWriter,
  type EmbeddingWriter,
  type Erasers,
  edgesOf,
  filterFields,
  type Generation,
  type MadeVectors,
  type PutGeneration,
  StorageError,
  type Verb,
} from '@cstp/client/storage'
import type { Catalogue } from './catalogue.ts'
import { count, generationIn, type Layers, ofSource, storedTexts, vectorKey } from './tables.ts'

export interface DecisionTools {
  /** Over what is committed. */
  committed: Pick<Catalogue, 'groups'>
  analyse(record: DecisionRecord): string
}

export function decisionWriter(
  layers: Layers,
  verb: Verb,
  { analyse, committed }: DecisionTools,
): DecisionWriter & { erase: Erasers['decision'] } {
  function write(record: DecisionRecord, revision: number): void {
    filterFields(record, false)
    const before = layers.decisions.get(record.id)
    const holder = record.source_key === null ? undefined : layers.sources.get(record.source_key)
    if (holder !== undefined && holder !== record.id)
      throw new StorageError('conflict', `the source key is taken by ${holder}`)
    if (before !== undefined && before.source_key !== null) layers.sources.delete(before.source_key)
    if (record.source_key !== null) layers.sources.set(record.source_key, record.id)
    layers.decisions.set(record.id, {
      document: JSON.stringify(record),
      revision,
      seq: count(layers, 'seq'),
      source_key: record.source_key,
      terms: analyse(record),
      edges: edgesOf(record),
    })
  }

  return {
    get: verb((ids) => storedTexts(layers, ids)),
    groups: verb(committed.groups) as DecisionWriter['groups'],
    find: verb(({ source_key }) => ofSource(layers, source_key)),
    put: verb((record: DecisionRecord, replaces: number, revision = replaces + 1) => {
      const stored = layers.decisions.get(record.id)?.revision ?? 0
      if (stored === 0 && replaces > 0) throw new StorageError('not_found', `there is no decision ${record.id}`)
      if (stored !== replaces)
        throw new StorageError('conflict', `decision ${record.id} is at revision ${stored}, not ${replaces}`)
      write(record, revision)
    }),
    erase: verb((id: string, revision: number | null) => {
      const row = layers.decisions.get(id)
      if (row === undefined) throw new StorageError('not_found', `there is no decision ${id}`)
      if (revision !== null && row.revision !== revision)
        throw new StorageError('conflict', `decision ${id} is at revision ${row.revision}, not ${revision}`)
      layers.decisions.delete(id)
      if (row.source_key !== null) layers.sources.delete(row.source_key)
      for (const [number] of [...layers.generations.entries()]) layers.embeddings.delete(vectorKey(number, id))
      layers.erased.set(id, count(layers, 'seq'))
    }),
  }
}

export function embeddingWriter(layers: Layers, verb: Verb): EmbeddingWriter {
  const touch = (id: string) => {
    const row = layers.decisions.get(id)
    if (row !== undefined) layers.decisions.set(id, { ...row, seq: count(layers, 'seq') })
  }
  const forget = (number: number) => {
    layers.generations.delete(number)
    for (const [key] of [...layers.embeddings.entries()])
      if (key.startsWith(`${number}/`)) layers.embeddings.delete(key)
  }

  function start(embedder: string, dimensions: number): Generation {
    const unfinished = generationIn(layers, 'building')
    if (unfinished !== null) forget(unfinished.number)
    const state = generationIn(layers, 'active') === null ? 'active' : 'building'
    const generation: Generation = { number: count(layers, 'generation'), embedder, dimensions, state }
    layers.generations.set(generation.number, generation)
    return generation
  }
  function finish(number: number): Generation {
    const built = layers.generations.get(number)
    if (built?.state !== 'building') throw new StorageError('not_found', `generation ${number} is not being built`)
    const active = generationIn(layers, 'active')
    if (active !== null) forget(active.number)
    const generation: Generation = { ...built, state: 'active' }
    layers.generations.set(number, generation)
    return generation
  }

  return {
    put: verb((id: string, made: MadeVectors | null) => {
      if (made === null) {
        for (const [number] of [...layers.generations.entries()]) layers.embeddings.delete(vectorKey(number, id))
        touch(id)
        return false
      }
      const { embedder, vectors } = made
      if (layers.decisions.get(id) === undefined) throw new StorageError('not_found', `there is no decision ${id}`)
      if (generationIn(layers, 'active') === null) start(embedder, vectors.both.length)
      const generations = [...layers.generations.entries()].filter(([, { embedder: maker }]) => maker === embedder)
      for (const [, generation] of generations) checkVectors(vectors, generation)
      const structure = vectors.structure.slice()
      const own = vectors.function === vectors.structure ? structure : vectors.function.slice()
      const both =
        vectors.both === vectors.structure ? structure : vectors.both === vectors.function ? own : vectors.both.slice()
      for (const [number] of generations)
        layers.embeddings.set(vectorKey(number, id), { structure, function: own, both })
      if (generations.length > 0) touch(id)
      return generations.some(([, { state }]) => state === 'active')
    }),
    putGeneration: verb((next: PutGeneration) =>
      next.state === 'building' ? start(next.embedder, next.dimensions) : finish(next.number),
    ),
  }
}
