/** The reference vectors driver: a map and plain loops, for tests. */

import { compileFilter } from '../../../sdk/storage/filter.ts'
import { checkEntries, checkGeneration, checkVector } from '../../../sdk/storage/vector-checks.ts'
import type { VectorEntry, VectorHit, VectorIndex, Vectors } from '../../../sdk/storage/vectors.ts'

type Generation = Parameters<Vectors['open']>[0]

export function openMemoryVectors(): Vectors {
  const open = new Map<number, { generation: Generation; index: VectorIndex }>()
  return {
    driver: 'memory',
    immediate: true,
    async open(generation) {
      const held = open.get(generation.number)
      if (held) {
        checkGeneration(held.generation, generation)
        return held.index
      }
      const index = openIndex(generation.dimensions)
      open.set(generation.number, { generation: { ...generation }, index })
      return index
    },
    async keepOnly(number) {
      for (const other of [...open.keys()]) if (other !== number) open.delete(other)
    },
    async close() {
      open.clear()
    },
  }
}

function openIndex(dimensions: number): VectorIndex {
  const held = new Map<string, NonNullable<VectorEntry['value']>>()
  let applied = 0
  return {
    async watermark() {
      return applied
    },
    async apply(entries, watermark) {
      checkEntries(entries, dimensions)
      for (const { id, value } of entries) {
        if (value === null) held.delete(id)
        else held.set(id, structuredClone(value))
      }
      applied = Math.max(applied, watermark)
    },
    async nearest({ vector, side, k, filter }) {
      checkVector(vector, dimensions, 'The question')
      const passes = compileFilter(filter)
      const hits: VectorHit[] = []
      for (const [id, { fields, vectors }] of held) {
        if (passes(fields)) hits.push({ id, distance: distance(vector, vectors[side]) })
      }
      hits.sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
      return hits.slice(0, Math.max(0, k))
    },
    async distances({ vector, side, ids }) {
      checkVector(vector, dimensions, 'The question')
      const found = new Map<string, number>()
      for (const id of ids) {
        const value = held.get(id)
        if (value) found.set(id, distance(vector, value.vectors[side]))
      }
      return found
    },
    async count() {
      return held.size
    },
    async maintain() {},
    async close() {},
  }
}

function distance(a: Float32Array, b: Float32Array): number {
  let dot = 0
  for (let i = 0; i < a.length; i++) dot += a[i]! * b[i]!
  return Math.min(2, Math.max(0, 1 - dot))
}
