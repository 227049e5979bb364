/** Shared by the stores: packing of vectors, key ranges and parsing of keyed records, grouping by time. */
import type { KeyedReader, KeyedRecord } from '../../../sdk/storage/store.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'

// The three vectors of a decision as bytes; sides that are the same array are stored once.

const bytesOf = (array: Float32Array): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

export interface VectorRow {
  structure: Uint8Array
  function: Uint8Array | null
  both: Uint8Array | null
  shared: number
}

const functionIsStructure = 1
const bothIsStructure = 2
const bothIsFunction = 4

const floats = (blob: Uint8Array): Float32Array =>
  blob.byteOffset % 4 === 0
    ? new Float32Array(blob.buffer, blob.byteOffset, blob.byteLength / 4)
    : new Float32Array(blob.slice().buffer)

export function unpackVectors(row: VectorRow): VectorSet {
  const structure = floats(row.structure)
  const own = row.shared & functionIsStructure ? structure : floats(row.function!)
  const both = row.shared & bothIsStructure ? structure : row.shared & bothIsFunction ? own : floats(row.both!)
  return { structure, function: own, both }
}

export function packVectors({ structure, function: own, both }: VectorSet): VectorRow {
  const shared =
    (own === structure ? functionIsStructure : 0) |
    (both === structure ? bothIsStructure : both === own ? bothIsFunction : 0)
  return {
    structure: bytesOf(structure),
    function: own === structure ? null : bytesOf(own),
    both: both === structure || both === own ? null : bytesOf(both),
    shared,
  }
}

export type KeyedRow = Omit<KeyedRecord, 'value'> & { value: string }

export const keyedOf = ({ key, value, version, expires_ms }: KeyedRow): KeyedRecord => ({
  key,
  value: JSON.parse(value),
  version,
  expires_ms,
})

/** Lowest key of a list of keyed records, and the first key behind it. Keys that `after` excludes are outside of this range. */
export function keyRange({
  prefix = '',
  after,
  order = 'asc',
}: Pick<Parameters<KeyedReader['list']>[1], 'prefix' | 'after' | 'order'>): [string, string] {
  const end = `${prefix}\u{10ffff}`
  if (after === undefined) return [prefix, end]
  return order === 'asc' ? [`${after}\0`, end] : [prefix, after]
}
