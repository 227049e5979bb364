/** Manifests in memory, shared by all that are given them: what the keyed records of a store are to the servers of a place. */
import type { Manifests } from '../../src/drivers/search/lancedb/manifest.ts'

export function openManifests(): Manifests {
  const kept = new Map<string, { value: unknown; version: number }>()
  const id = crypto.randomUUID()
  return {
    store: async () => id,
    read: async (key) => structuredClone(kept.get(key) ?? null),
    async write(key, value, version) {
      if ((kept.get(key)?.version ?? 0) !== version) return false
      kept.set(key, { value: structuredClone(value), version: version + 1 })
      return true
    },
    keys: async (prefix) => [...kept.keys()].filter((key) => key.startsWith(prefix)),
    remove: async (key) => void kept.delete(key),
  }
}
