/**
 * Compares the table with what the store says of its decisions. Nothing reads the store again for what the table holds, so an edit of the
 * table by other means would hide a decision from every later search.
 */
import { isDeepStrictEqual } from 'node:util'
import { isStorageError } from '../../../sdk/storage/errors.ts'
import type { SearchEntry, SearchValue } from '../../../sdk/storage/search.ts'
import { checkEntries } from '../../../sdk/storage/vector-checks.ts'
import type { Engine } from '../../drivers/search/lancedb/library.ts'
import { TermStats } from '../../drivers/search/lancedb/overlay.ts'
import { rowOf } from '../../drivers/search/lancedb/rows.ts'
import { decisionsTable, type StoredState } from '../../drivers/search/lancedb/state.ts'
import { openTable } from '../../drivers/search/lancedb/table.ts'

/** The latest change of a decision: its number, and what the index then holds. */
export type Told = SearchEntry & { seq: number }

/** Lists and vectors come back as those of Arrow. */
const plain = (value: unknown): unknown => (value as { toArray?(): unknown } | null)?.toArray?.() ?? value ?? null

const figures = (stats: TermStats): unknown[] => [stats.decisions, stats.indexed, stats.length, new Map(stats.words())]

/** Vectors that are refused are left out of the index. */
function held(entry: SearchEntry & { value: SearchValue }, dimensions: number): SearchValue {
  try {
    checkEntries([entry], dimensions)
    return entry.value
  } catch (error) {
    if (!isStorageError(error, 'invalid')) throw error
    return { ...entry.value, fields: { ...entry.value.fields, indexed: false }, vectors: null }
  }
}

/**
 * What is wrong in a table, in words that continue "the search index"; decisions that changed since it was written are left out.
 * @param changes those of all decisions, in the order of their numbers; a decision may change, and be listed again, meanwhile
 */
export async function* differences(
  engine: Engine,
  generation: number,
  state: StoredState,
  changes: AsyncIterable<readonly Told[]>,
): AsyncGenerator<string> {
  const table = await openTable(engine, decisionsTable(generation), state)
  const { dimensions, watermark } = state
  const stats = new TermStats()
  const seen = new Set<string>()
  let known = 0
  try {
    for await (const page of changes) {
      const unseen = page.filter(({ id }) => !seen.has(id))
      const rows = Map.groupBy(await table.rows(unseen.map(({ id }) => id)), ({ id }) => id as string)
      for (const { seq, id, value } of unseen) {
        seen.add(id)
        const [row, ...more] = rows.get(id) ?? []
        known += row ? 1 + more.length : 0
        if (row) stats.add({ terms: String(row.terms), vectors: row.indexed }, 1)
        if (more.length > 0) yield `holds ${id} ${more.length + 1} times`
        if (seq > watermark) continue
        if (value === null && row) yield `holds ${id}, which the store does not have`
        if (value !== null && !row) yield `lacks ${id}: no search finds it`
        if (value === null || !row) continue
        const odd = Object.entries(rowOf(held({ id, value }, dimensions), dimensions)).flatMap(([name, right]) =>
          isDeepStrictEqual(plain(row[name]), plain(right)) ? [] : [name],
        )
        if (odd.length > 0) yield `holds another ${odd.join(', ')} of ${id} than the store`
      }
    }
    const unknown = (await table.count_all()) - known
    if (unknown > 0) yield `holds ${unknown} rows more than the decisions of the store`
    if (!isDeepStrictEqual(figures(stats), figures(state.stats))) yield 'counts other terms than those of its rows'
  } finally {
    table.close()
  }
}
