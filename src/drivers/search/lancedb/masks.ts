/**
 * Which rows of a segment pass a filter, one bit per row. LanceDB evaluates each condition once, which takes tens of milliseconds if many
 * rows pass; recent results are cached, since a segment never changes. Times differ from question to question and are compared here.
 */
import type { Table } from '@lancedb/lancedb'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { type Bits, intersect, keepSets, noBits, put, sizeOf } from './bits.ts'
import { conditions } from './filter.ts'
import { allOf } from './gate.ts'

/** Bytes of the sets that are kept. */
const KEPT = 8_000_000

/** The rows, also those that are gone, by their numbers from 0 on. */
export interface Numbering {
  count: number
  rowOf(address: number): number
}

export interface Mask {
  bits: Bits
  /** How many rows pass. */
  passing: number
}

export function openMasks(table: Table, { count, rowOf }: Numbering) {
  const sets = keepSets<Promise<Bits>>(count, KEPT)
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

  async function bitsWhere(condition: string): Promise<Bits> {
    const bits = noBits(count)
    for await (const { batch, rowAt } of look(condition, []))
      for (let at = 0; at < batch.numRows; at++) put(bits, rowAt(at))
    return bits
  }

  /** When each row was made, by its number. */
  function timesOf(): Promise<Float64Array> {
    times ??= readTimes().catch((error) => {
      times = null
      throw error
    })
    return times
  }

  async function readTimes(): Promise<Float64Array> {
    const all = new Float64Array(count).fill(Number.NaN)
    for await (const { batch, rowAt } of look(null, ['created_ms'])) {
      const own: Float64Array = batch.getChild('created_ms')!.toArray()
      for (let at = 0; at < own.length; at++) all[rowAt(at)] = own[at]!
    }
    return all
  }

  async function bitsWithin(from: number, to: number): Promise<Bits> {
    const all = await timesOf()
    const bits = noBits(count)
    for (let row = 0; row < count; row++) if (all[row]! >= from && all[row]! <= to) put(bits, row)
    return bits
  }

  function bitsOf(condition: string, make: () => Promise<Bits>): Promise<Bits> {
    const bits = sets.known(condition) ?? sets.keep(condition, make())
    bits.catch(() => sets.forget(condition))
    return bits
  }

  return {
    times: timesOf,
    async of(filter: DecisionFilter): Promise<Mask> {
      const { created_from_ms = Number.NEGATIVE_INFINITY, created_to_ms = Number.POSITIVE_INFINITY, ...rest } = filter
      const wanted = conditions(rest).map((condition) => bitsOf(condition, () => bitsWhere(condition)))
      if (filter.created_from_ms !== undefined || filter.created_to_ms !== undefined)
        wanted.push(
          bitsOf(`created ${created_from_ms} ${created_to_ms}`, () => bitsWithin(created_from_ms, created_to_ms)),
        )
      const [first, ...others] = await allOf(wanted)
      const bits = first!.slice()
      for (const other of others) intersect(bits, other)
      return { bits, passing: sizeOf(bits) }
    },
  }
}

export type Masks = ReturnType<typeof openMasks>
