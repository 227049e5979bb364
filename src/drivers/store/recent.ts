/** Documents that were read lately: as many as fit; what nobody asked for since it came goes first. */

/** More than 10 000 decisions of usual length. */
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
  /** Whether it was asked for since it came, or since it was last spared. */
  used: boolean
}

/**
 * To keep the order of the last use would cost each read more than the look-up: what was used is spared once where room is made.
 * @param most characters of documents that are kept
 */
export function recent<T extends { json: string }>(most: number): Recent<T> {
  // In the order in which they came or were spared.
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
