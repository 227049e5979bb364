/** Opens the search index: in memory while the store is small, and in segments beside it once it has grown. */
import { join } from 'node:path'
import { isStorageError } from '../../sdk/storage/errors.ts'
import { keyedPages } from '../../sdk/storage/keyed.ts'
import type { Search } from '../../sdk/storage/search.ts'
import type { Store } from '../../sdk/storage/store.ts'
import type { Log } from '../core/log.ts'
import { openSegmentSearch } from '../drivers/search/lancedb/driver.ts'
import type { Manifests } from '../drivers/search/lancedb/manifest.ts'
import type { Settings } from './config/config.ts'
import { loadDrivers } from './own-drivers.ts'

const collection = 'search_segments'

/** Manifests as keyed records of the store: a store that is restored from a backup knows the segments of that time, or none. */
export function manifestsOf(store: Pick<Store, 'keyed' | 'transaction'>): Manifests {
  return {
    async read(key) {
      const [found] = await store.keyed.get(collection, [key])
      return found === undefined ? null : { value: found.value, version: found.version }
    },
    write: (key, value, version) =>
      store
        .transaction(({ keyed }) => keyed.put(collection, key, value, { version }))
        .then(
          () => true,
          (error) => {
            if (isStorageError(error, 'conflict')) return false
            throw error
          },
        ),
    async keys(prefix) {
      const found: string[] = []
      for await (const page of keyedPages(store.keyed, collection, prefix)) found.push(...page.map(({ key }) => key))
      return found
    },
    remove: (key) => store.transaction(({ keyed }) => keyed.delete(collection, [key])),
  }
}

/** The folder of the segments. Databases that servers on one data directory work on have one each. */
export function placeOfSegments({
  search_url,
  store_url,
  data_dir,
}: Pick<Settings, 'search_url' | 'store_url' | 'data_dir'>): string {
  if (search_url !== null) return search_url
  if (store_url === null) return join(data_dir, 'search')
  const { host, pathname, search } = new URL(store_url)
  return join(data_dir, `search-${Bun.hash(`${host}${pathname}${search}`).toString(36)}`)
}

export async function openSearch(settings: Settings, store: Store, log: Log): Promise<Search> {
  const own = await loadDrivers(settings.drivers)
  if (own.search) return own.search()
  return openSegmentSearch({ url: placeOfSegments(settings), manifests: manifestsOf(store), log })
}
