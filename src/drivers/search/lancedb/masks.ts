/**
 * Which rows of a segment pass a filter, as a bit for each. LanceDB looks up each condition once, which takes tens of milliseconds where many
 * rows pass, and those asked for lately are kept, as a segment never changes. Times, which differ from question to question, are compared here.
 */
import type { Table } from '@lancedb/lancedb'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { conditions } from './filter.ts'

/** Bytes of the bits that are kept, at least those of so many conditions. */
const KEPT = { bytes: 8_000_000, least: 8 }

/** The rows, also those that are gone, by their numbers from 0 on. */
export interface Numbering {
  count: number
  rowOf(address: number): number
  addressOf(row: number): number
}

export interface Mask {
  /** Of row n bit `n & 31` of number `n >> 5`. */
  bits: Uint32Array
  /** How many rows pass. */
  passing: number
}

export const passes = (bits: Uint32Array, row: number): boolean => ((bits[row >> 5]! >>> (row & 31)) & 1) === 1

/** Numbers of the rows that pass. */
export function rowsIn({ bits, passing }: Mask): number[] {
  const rows: number[] = []
  for (let word = 0; rows.length < passing; word++)
    for (let left = bits[word]!; left !== 0; left &= left - 1) rows.push((word << 5) + 31 - Math.clz32(left & -left))
  return rows
}

function maskOf(bits: Uint32Array): Mask {
  let passing = 0
  for (let word = 0; word < bits.length; word++) {
    let left = bits[word]!
    left -= (left >>> 1) & 0x55555555
    left = (left & 0x33333333) + ((left >>> 2) & 0x33333333)
    passing += Math.imul((left + (left >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return { bits, passing }
}

export function openMasks(table: Table, { count, rowOf }: Numbering) {
  const words = (count + 31) >> 5
  const most = Math.max(KEPT.least, Math.floor(KEPT.bytes / (words * 4)))
  const known = new Map<string, Promise<Uint32Array>>()
  let times: Promise<Float64Array> | null = null

  /** The rows that pass, a few thousand at a time, with some columns of them. */
  async function* look(where: string | null, columns: readonly string[]) {
    const query = where === null ? table.query() : table.query().where(where)
    for await (const batch of query.withRowId().select(['_rowid', ...columns])) {
      const ids: BigUint64Array = batch.getChild('_rowid')!.toArray()
      // A number of 64 bits as two of 32: a bigint each would take ten times as long.
      const halves = new Uint32Array(ids.buffer, ids.byteOffset, 2 * ids.length)
      yield { batch, rowAt: (at: number) => rowOf(halves[2 * at + 1]! * 2 ** 32 + halves[2 * at]!) }
    }
  }

  async function bitsWhere(condition: string): Promise<Uint32Array> {
    const bits = new Uint32Array(words)
    for await (const { batch, rowAt } of look(condition, []))
      for (let at = 0; at < batch.numRows; at++) {
        const row = rowAt(at)
        bits[row >> 5]! |= 1 << (row & 31)
      }
    return bits
  }

  async function readTimes(): Promise<Float64Array> {
    const all = new Float64Array(count).fill(Number.NaN)
    for await (const { batch, rowAt } of look(null, ['created_ms'])) {
      const own: Float64Array = batch.getChild('created_ms')!.toArray()
      for (let at = 0; at < own.length; at++) all[rowAt(at)] = own[at]!
    }
    return all
  }

  async function bitsWithin(from: number, to: number): Promise<Uint32Array> {
    times ??= readTimes().catch((error) => {
      times = null
      throw error
    })
    const all = await times
    const bits = new Uint32Array(words)
    for (let row = 0; row < count; row++) if (all[row]! >= from && all[row]! <= to) bits[row >> 5]! |= 1 << (row & 31)
    return bits
  }

  /** The bits of a condition, made if they are not kept. */
  function bitsOf(condition: string, make: () => Promise<Uint32Array>): Promise<Uint32Array> {
    const bits = known.get(condition) ?? make()
    known.delete(condition)
    known.set(condition, bits)
    bits.catch(() => known.delete(condition))
    if (known.size > most) known.delete(known.keys().next().value!)
    return bits
  }

  return {
    async of(filter: DecisionFilter): Promise<Mask> {
      const { created_from_ms = Number.NEGATIVE_INFINITY, created_to_ms = Number.POSITIVE_INFINITY, ...rest } = filter
      const wanted = conditions(rest).map((condition) => bitsOf(condition, () => bitsWhere(condition)))
      if (filter.created_from_ms !== undefined || filter.created_to_ms !== undefined)
        wanted.push(
          bitsOf(`created ${created_from_ms} ${created_to_ms}`, () => bitsWithin(created_from_ms, created_to_ms)),
        )
      const [first, ...others] = await Promise.all(wanted)
      const bits = first!.slice()
      for (const other of others) for (let word = 0; word < words; word++) bits[word]! &= other[word]!
      return maskOf(bits)
    },
  }
}

export type Masks = ReturnType<typeof openMasks>
