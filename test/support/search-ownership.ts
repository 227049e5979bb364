/** An owner of a search index in memory, shared by all that are given it: what the keyed records of a store are to its servers. */
import type { Ownership } from '../../src/drivers/search/lancedb/place.ts'

export function openOwnership(): Ownership {
  const id = crypto.randomUUID()
  let holder: symbol | null = null
  return {
    store: async () => id,
    async lease() {
      if (holder !== null) return null
      const own = Symbol('lease')
      holder = own
      return {
        renew: async () => holder === own,
        release: async () => {
          if (holder === own) holder = null
        },
      }
    },
  }
}
