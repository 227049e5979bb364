/** Decision ids in order, and in the order of their random part: finds all that start with a prefix. */
import { compareText } from '../../../../sdk/storage/fields.ts'

export interface SortedIds {
  add(id: string): void
  remove(id: string): void
  /** Ids that start with `prefix`, or whose part after `-decision-` does; at most `limit`, ascending. */
  find(prefix: string, limit: number): string[]
}

interface Key {
  /** What is compared: the id itself or its random part. */
  text: string
  id: string
}

const marker = '-decision-'

export function sortedIds(): SortedIds {
  const whole = ordered()
  const parts = ordered()
  const keysOf = (id: string): [Key, Key | null] => {
    const at = id.indexOf(marker)
    return [{ text: id, id }, at < 0 ? null : { text: id.slice(at + marker.length), id }]
  }
  return {
    add(id) {
      const [key, part] = keysOf(id)
      whole.add(key)
      if (part !== null) parts.add(part)
    },
    remove(id) {
      const [key, part] = keysOf(id)
      whole.remove(key)
      if (part !== null) parts.remove(part)
    },
    find(prefix, limit) {
      const found = new Set<string>(whole.startingWith(prefix, limit))
      for (const id of parts.startingWith(prefix, prefix === '' ? 0 : Number.POSITIVE_INFINITY)) found.add(id)
      return [...found].sort().slice(0, limit)
    },
  }
}

const compareKeys = (a: Key, b: Key): number => compareText(a.text, b.text) || compareText(a.id, b.id)

function ordered() {
  const keys: Key[] = []
  // Additions wait here, so that loading many costs one sort.
  let waiting: Key[] = []

  function indexOf(key: Key): number {
    let low = 0
    let high = keys.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareKeys(keys[middle]!, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  function settle(): void {
    if (waiting.length > 64) {
      for (const key of waiting) keys.push(key)
      keys.sort(compareKeys)
    } else for (const key of waiting) keys.splice(indexOf(key), 0, key)
    waiting = []
  }

  return {
    add: (key: Key): void => void waiting.push(key),
    remove(key: Key): void {
      settle()
      const at = indexOf(key)
      if (keys[at]?.id === key.id) keys.splice(at, 1)
    },
    startingWith(prefix: string, limit: number): string[] {
      settle()
      const found: string[] = []
      for (let at = indexOf({ text: prefix, id: '' }); at < keys.length && found.length < limit; at++) {
        if (!keys[at]!.text.startsWith(prefix)) break
        found.push(keys[at]!.id)
      }
      return found
    },
  }
}
