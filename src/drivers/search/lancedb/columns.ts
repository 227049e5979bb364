/** Reads columns of LanceDB's answers. */
import type { Table } from '@lancedb/lancedb'

export type Found = Awaited<ReturnType<ReturnType<Table['query']>['toArrow']>>

/** The values of a column; an answer without rows has no columns. */
export const column = <T>(found: Found, name: string, as: (value: unknown) => T): T[] =>
  found.numRows === 0 ? [] : Array.from(found.getChild(name)!, as)

/** The addresses of the rows of an answer that was asked for them. */
export const addressesIn = (found: Found): number[] => column(found, '_rowid', Number)
