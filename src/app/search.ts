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
/** The id by which a place of segments knows the store. A migrated store is another one, a restored one is the same. */
const owner = { collection: 'search_owner', key: 'store' }

/** Manifests as keyed records of the store: a store that is restored from a backup knows the segments of that time, or none. */
export function manifestsOf(store: Pick<Store, 'keyed' | 'transaction'>): Manifests {
  const { keyed, transaction } = store
  const put = (of: string, key: string, value: unknown, version: number): Promise<boolean> =>
    transaction((tx) => tx.keyed.put(of, key, value, { version })).then(
      () => true,
      (error) => {
        if (isStorageError(error, 'conflict')) return false
        throw error
      },
    )
  const read = async (of: string, key: string) => {
    const [found] = await keyed.get(of, [key])
    return found === undefined ? null : { value: found.value, version: found.version }
  }
  return {
    async store() {
      const known = await read(owner.collection, owner.key)
      if (known !== null) return String(known.value)
      // Of several servers that start at once one makes it.
      await put(owner.collection, owner.key, crypto.randomUUID(), 0)
      return String((await read(owner.collection, owner.key))?.value)
    },
    read: (key) => read(collection, key),
    write: (key, value, version) => put(collection, key, value, version),
    async keys(prefix) {
      const found: string[] = []
      for await (const page of keyedPages(keyed, collection, prefix)) found.push(...page.map(({ key }) => key))
      return found
    },
    remove: (key) => transaction((tx) => tx.keyed.delete(collection, [key])),
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

/**
 * How many changes are held in memory before they are written as a segment. Servers of one database hear of the same changes: each has
 * another number, so that they don't all write at the same moment.
 */
export const tailMost = ({ store_url }: Pick<Settings, 'store_url'>, random = Math.random): number =>
  store_url === null ? 20_000 : 20_000 + Math.floor(random() * 6_000)

export async function openSearch(settings: Settings, store: Store, log: Log): Promise<Search> {
  const own = await loadDrivers(settings.drivers)
  if (own.search) return own.search()
  return openSegmentSearch({
    url: placeOfSegments(settings),
    own: settings.search_url === null,
    manifests: manifestsOf(store),
    tail_most: tailMost(settings),
    log,
  })
}
