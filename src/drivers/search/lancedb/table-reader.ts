/** Reads a segment's rows through LanceDB: for object stores, where files can't be read at offsets. */
import type { Table } from '@lancedb/lancedb'
import { distanceOf } from '../resident/nearest.ts'
import { addressesIn, column } from './columns.ts'
import { anyOf } from './filter.ts'
import { dot, nearestBy, type RowReader } from './reader.ts'

/** Ids per look-up. */
const ASKED = 1_000

export function tableReader(table: Table): RowReader {
  const take = (addresses: readonly number[], columns: string[]) =>
    table
      .takeRowIds([...addresses])
      .select(columns)
      .toArrow()

  return {
    async find(ids) {
      const found: number[] = []
      for (let at = 0; at < ids.length; at += ASKED) {
        const some = table.query().where(anyOf('id', ids.slice(at, at + ASKED)))
        found.push(...addressesIn(await some.withRowId().select(['_rowid']).toArrow()))
      }
      return found
    },
    async texts(addresses) {
      if (addresses.length === 0) return []
      const found = await take(addresses, ['id', 'terms', 'length', 'indexed'])
      const [terms, lengths] = [column(found, 'terms', String), column(found, 'length', Number)]
      const indexed = column(found, 'indexed', Boolean)
      return column(found, 'id', String).map((id, row) => ({
        id,
        terms: terms[row]!,
        length: lengths[row]!,
        indexed: indexed[row]!,
      }))
    },
    async nearest({ vector, side }, addresses, k, beyond = Number.POSITIVE_INFINITY) {
      if (addresses.length === 0) return { hits: [], isSettled: false }
      const found = await take(addresses, ['id', side])
      const ids = column(found, 'id', String)
      const vectors = column(found, side, (value) => value as { toArray(): Float32Array } | null)
      const measured = vectors.flatMap((own, at) =>
        own === null ? [] : [{ at, distance: distanceOf(dot(vector, own.toArray())) }],
      )
      // LanceDB returns them in its own order; all of them were read.
      measured.sort((a, b) => a.distance - b.distance)
      return nearestBy(
        { count: measured.length, k, beyond },
        (place) => measured[place]!.distance,
        (places) => places.map((place) => ids[measured[place]!.at]!),
      )
    },
    nearestOfAll: null,
    words: null,
    rows: null,
    close: () => {},
  }
}
