/** A map with a layer of changes on top, which a transaction either lays down or throws away. */

export interface Table<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
  entries(): Iterable<[K, V]>
}

export interface Layer<K, V> extends Table<K, V> {
  /** Keys that were set or deleted. */
  changed(): Iterable<K>
  /** Makes the changes part of the map below. */
  commit(): void
}

export function layer<K, V>(below: Map<K, V>): Layer<K, V> {
  const changes = new Map<K, V | undefined>()
  return {
    get: (key) => (changes.has(key) ? changes.get(key) : below.get(key)),
    set: (key, value) => void changes.set(key, value),
    delete: (key) => void changes.set(key, undefined),
    *entries() {
      for (const [key, value] of below) if (!changes.has(key)) yield [key, value]
      for (const [key, value] of changes) if (value !== undefined) yield [key, value]
    },
    changed: () => changes.keys(),
    commit() {
      for (const [key, value] of changes) {
        if (value === undefined) below.delete(key)
        else below.set(key, value)
      }
    },
  }
}
