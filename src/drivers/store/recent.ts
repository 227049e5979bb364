/** A cache of recently read documents with bounded size. Documents that were not read since they were added are evicted first. */

/** Room for more than 10 000 decisions of usual length. */
export const keptCharacters = 40_000_000

export interface Recent<T> {
  get(id: string): T | undefined
  set(id: string, row: T): void
  delete(id: string): void
  clear(): void
  isEmpty(): boolean
}

interface Kept<T> {
  row: T
  /** Whether it was read since it was added, or since eviction last skipped it. */
  used: boolean
}

/**
 * Keeping the exact order of use would cost each read more than the look-up. Instead, eviction skips a document once if it was used.
 * @param most the most characters of documents to keep
 */
export function recent<T extends { json: string }>(most: number): Recent<T> {
  // In the order in which they were added or skipped.
  const kept = new Map<string, Kept<T>>()
  let size = 0

  function remove(id: string): void {
    size -= kept.get(id)?.row.json.length ?? 0
    kept.delete(id)
  }

  function makeRoom(length: number): void {
    for (const [id, one] of kept) {
      if (size + length <= most) break
      if (!one.used) remove(id)
      else {
        one.used = false
        kept.delete(id)
        kept.set(id, one)
      }
    }
  }

  return {
    get(id) {
      const found = kept.get(id)
      if (found === undefined) return undefined
      found.used = true
      return found.row
    },
    set(id, row) {
      remove(id)
      const { length } = row.json
      if (length > most) return
      makeRoom(length)
      kept.set(id, { row, used: false })
      size += length
    },
    delete: remove,
    clear() {
      kept.clear()
      size = 0
    },
    isEmpty: () => kept.size === 0,
  }
}
