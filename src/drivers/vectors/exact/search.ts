/** One generation held in memory: filter first, then scan only what passed. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { compileFilter, isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { DecisionFields, DecisionFilter } from '../../../../sdk/storage/store.ts'
import { checkEntries, checkVector } from '../../../../sdk/storage/vector-checks.ts'
import {
  type Side,
  sides,
  type VectorEntry,
  type VectorHit,
  type VectorIndex,
} from '../../../../sdk/storage/vectors.ts'
import { openLane } from '../shared/lane.ts'
import { assembleKernel, bindKernel, type ScanWorker, startScanWorker } from './kernel.ts'
import { type Addresses, MAXIMUM_PAGES, openArena, openRows } from './rows.ts'

/** @param worker_from scans of at least this many vectors run in a worker */
export function openExactIndex(dimensions: number, worker_from: number): VectorIndex {
  const arena = openArena()
  const code = assembleKernel(MAXIMUM_PAGES)
  const kernel = bindKernel(code, arena.memory)
  const rows = openRows(arena, dimensions)
  const question = arena.take(rows.bytes)
  const slotOf = new Map<string, number>()
  const ids: (string | null)[] = []
  const fieldsOf: (DecisionFields | null)[] = []
  // Scans share their scratch memory with each other, and rows with what is applied: one at a time.
  const lane = openLane()
  let scratch = { picked: 0, dots: 0, capacity: 0 }
  let worker: ScanWorker | null = null
  let applied = 0

  function reserve(count: number) {
    if (count <= scratch.capacity) return
    const capacity = Math.max(1024, count, scratch.capacity * 2)
    scratch = { picked: arena.take(capacity * 4), dots: arena.take(capacity * 4), capacity }
  }

  async function scan(vector: Float32Array, list: number, count: number): Promise<Float32Array> {
    arena.f32().set(vector, question / 4)
    if (count >= worker_from) {
      worker ??= startScanWorker(code, arena.memory)
      await worker.scan(question, list, count, scratch.dots, rows.bytes).catch((error) => {
        worker?.close()
        worker = null
        throw error
      })
    } else kernel.scan(question, list, count, scratch.dots, rows.bytes)
    return arena.f32().subarray(scratch.dots / 4, scratch.dots / 4 + count)
  }

  function pick(slots: readonly number[], side: Side): number {
    const list = arena.u32()
    for (let i = 0; i < slots.length; i++) list[scratch.picked / 4 + i] = rows.address(slots[i]!, side)
    return scratch.picked
  }

  function passing(filter: DecisionFilter): number[] {
    const passes = compileFilter(filter)
    const slots: number[] = []
    for (let slot = 0; slot < fieldsOf.length; slot++) {
      const fields = fieldsOf[slot]
      if (fields && passes(fields)) slots.push(slot)
    }
    return slots
  }

  /** A row is finite exactly when its product with itself is; the kernel finds that out faster than a loop. */
  function areFinite(addresses: Addresses): boolean {
    const { picked, dots } = scratch
    for (const side of sides) {
      arena.u32()[picked / 4] = addresses[side]
      kernel.scan(addresses[side], picked, 1, dots, rows.bytes)
      if (!Number.isFinite(arena.f32()[dots / 4])) return false
    }
    return true
  }

  /** Writes all rows before any slot shows one, so that a refused batch leaves nothing behind. */
  function write(entries: readonly VectorEntry[]): (Addresses | null)[] {
    for (const { id, value } of entries) {
      if (value && sides.some((side) => value.vectors[side].length !== dimensions)) {
        checkEntries(entries, dimensions)
        throw new StorageError('invalid', `A vector of ${id} has another length`)
      }
    }
    reserve(1)
    const written: (Addresses | null)[] = []
    try {
      for (const { id, value } of entries) {
        const addresses = value && rows.write(value.vectors)
        written.push(addresses)
        if (addresses === null || areFinite(addresses)) continue
        checkEntries(entries, dimensions)
        throw new StorageError('invalid', `A vector of ${id} is too long to be compared`)
      }
      return written
    } catch (error) {
      for (const addresses of written) if (addresses) rows.free(addresses)
      throw error
    }
  }

  function show(id: string, fields: DecisionFields, addresses: Addresses) {
    let slot = slotOf.get(id)
    if (slot === undefined) {
      slot = rows.add(addresses)
      slotOf.set(id, slot)
    } else rows.replace(slot, addresses)
    ids[slot] = id
    fieldsOf[slot] = { ...fields }
  }

  function remove(id: string) {
    const slot = slotOf.get(id)
    if (slot === undefined) return
    slotOf.delete(id)
    rows.remove(slot)
    ids[slot] = null
    fieldsOf[slot] = null
  }

  return {
    async watermark() {
      return applied
    },
    apply: (entries, watermark) =>
      lane(() => {
        const written = write(entries)
        entries.forEach(({ id, value }, i) => {
          if (value) show(id, value.fields, written[i]!)
          else remove(id)
        })
        applied = Math.max(applied, watermark)
      }),
    nearest: ({ vector, side, k, filter }) =>
      lane(async () => {
        checkVector(vector, dimensions, 'The vector of the query')
        if (k <= 0) return []
        reserve(rows.size())
        if (isEmptyFilter(filter)) {
          const dots = await scan(vector, rows.list(side), rows.size())
          return best(dots, (slot) => ids[slot]!, k)
        }
        const slots = passing(filter)
        const dots = await scan(vector, pick(slots, side), slots.length)
        return best(dots, (place) => ids[slots[place]!]!, k)
      }),
    distances: ({ vector, side, ids: asked }) =>
      lane(async () => {
        checkVector(vector, dimensions, 'The vector of the query')
        const held = asked.filter((id) => slotOf.has(id))
        reserve(held.length)
        const slots = held.map((id) => slotOf.get(id)!)
        const dots = await scan(vector, pick(slots, side), slots.length)
        return new Map(held.map((id, i) => [id, toDistance(dots[i]!)]))
      }),
    async count() {
      return slotOf.size
    },
    async maintain() {},
    close: () => lane(() => worker?.close()),
  }
}

/** Cosine distance of two unit vectors with this dot product. */
const toDistance = (dot: number) => Math.min(2, Math.max(0, 1 - dot))

/**
 * The `k` best by distance, then id, with a heap whose root is the worst hit kept.
 * @param idAt the decision at a place, or null
 */
function best(dots: Float32Array, idAt: (place: number) => string | null, k: number): VectorHit[] {
  const heap: VectorHit[] = []
  for (let place = 0; place < dots.length; place++) {
    const distance = toDistance(dots[place]!)
    if (heap.length === k && distance > heap[0]!.distance) continue
    const id = idAt(place)
    if (id === null) continue
    const hit = { id, distance }
    if (heap.length < k) rise(heap, heap.push(hit) - 1)
    else if (isWorse(heap[0]!, hit)) {
      heap[0] = hit
      sink(heap)
    }
  }
  return heap.sort((a, b) => (isWorse(a, b) ? 1 : -1))
}

function isWorse(a: VectorHit, b: VectorHit): boolean {
  return a.distance > b.distance || (a.distance === b.distance && a.id > b.id)
}

function rise(heap: VectorHit[], from: number) {
  let at = from
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isWorse(heap[at]!, heap[parent]!)) return
    swap(heap, at, parent)
    at = parent
  }
}

function sink(heap: VectorHit[]) {
  let at = 0
  while (true) {
    let worst = at
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && isWorse(heap[child]!, heap[worst]!)) worst = child
    }
    if (worst === at) return
    swap(heap, at, worst)
    at = worst
  }
}

function swap(heap: VectorHit[], a: number, b: number) {
  const held = heap[a]!
  heap[a] = heap[b]!
  heap[b] = held
}
