/** Opens the search index: in memory while the store is small, with segments on disk once it has grown. */
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
/** Identifies the store to the location of its segments. A migrated store gets a new id, a restored one keeps its id. */
const owner = { collection: 'search_owner', key: 'store' }

/** Manifests as keyed records of the store, so that a restored store knows the segments of its backup, or none. */
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
      // Of several servers that start at once, only one creates it.
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

/** The folder of the segments. Each database has its own, since servers of several databases may share a data directory. */
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
 * Changes kept in memory before they are written as a segment. Servers of one database see the same changes, so each gets its own limit:
 * they then don't all write at the same moment.
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
