/** Rows that were read last, within a bound: finding one here costs a tenth of reading it from the database. */
import type { GetRow } from './decisions.ts'

export interface Recent {
  get(id: string): GetRow | undefined
  set(id: string, row: GetRow): void
  delete(id: string): void
  clear(): void
}

/** @param most characters of documents that are kept */
export function recent(most: number): Recent {
  // When the young half is full it becomes the old one, and what was not used since the last time goes.
  let young = new Map<string, GetRow>()
  let old = new Map<string, GetRow>()
  let size = 0

  function set(id: string, row: GetRow): void {
    if (size > most / 2) {
      old = young
      young = new Map()
      size = 0
    }
    young.set(id, row)
    size += row.doc.length
  }

  return {
    get(id) {
      const known = young.get(id)
      if (known !== undefined) return known
      const older = old.get(id)
      if (older !== undefined) set(id, older)
      return older
    },
    set,
    delete(id) {
      young.delete(id)
      old.delete(id)
    },
    clear() {
      young.clear()
      old.clear()
      size = 0
    },
  }
}
