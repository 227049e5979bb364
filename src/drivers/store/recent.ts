/** Documents that were read last: as many as fit, the ones longest unused go first. */

/** More than 10 000 decisions of usual length. */
export const keptCharacters = 40_000_000

export interface Recent<T> {
  get(id: string): T | undefined
  set(id: string, row: T): void
  delete(id: string): void
  clear(): void
  isEmpty(): boolean
}

/** @param most characters of documents that are kept */
export function recent<T extends { json: string }>(most: number): Recent<T> {
  // In the order of their last use.
  const kept = new Map<string, T>()
  let size = 0

  function remove(id: string, row: T): void {
    kept.delete(id)
    size -= row.json.length
  }

  return {
    get(id) {
      const row = kept.get(id)
      if (row === undefined) return undefined
      kept.delete(id)
      kept.set(id, row)
      return row
    },
    set(id, row) {
      const before = kept.get(id)
      if (before) remove(id, before)
      kept.set(id, row)
      size += row.json.length
      for (const [oldest, its] of kept) {
        if (size <= most) break
        remove(oldest, its)
      }
    },
    delete(id) {
      const row = kept.get(id)
      if (row) remove(id, row)
    },
    clear() {
      kept.clear()
      size = 0
    },
    isEmpty: () => kept.size === 0,
  }
}
