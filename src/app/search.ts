/** Opens the search index: in memory while the store is small, with a LanceDB table once it has grown. */
import { join } from 'node:path'
import { isStorageError } from '../../sdk/storage/errors.ts'
import type { Search } from '../../sdk/storage/search.ts'
import type { Store } from '../../sdk/storage/store.ts'
import type { Services } from '../calls/services.ts'
import { describeError, type Log } from '../core/log.ts'
import { followTexts } from '../domain/search/follow-texts.ts'
import { openLanceSearch } from '../drivers/search/lancedb/driver.ts'
import type { Ownership } from '../drivers/search/lancedb/place.ts'
import type { Settings } from './config/config.ts'
import { later } from './lifecycle.ts'
import { loadDrivers } from './own-drivers.ts'

/** Identifies the store to its search index. A migrated store gets a new id, a restored one keeps its id. */
const owner = { collection: 'search_owner', key: 'store' }
const writers = 'search_writer'
/** A writer that does not renew its lease for so long is taken for dead. */
const leaseMs = 60_000

interface Held {
  id: string
  until_ms: number
}

const read = async (keyed: Store['keyed'], { collection, key }: typeof owner) => (await keyed.get(collection, [key]))[0]

/** What the index of this store names as its owner; empty before it has one. */
export const storeId = async (keyed: Store['keyed']): Promise<string> => String((await read(keyed, owner))?.value ?? '')

/** The ownership of the index at this location, as keyed records of the store, which all its servers share. */
export function ownershipOf(
  { keyed, transaction }: Pick<Store, 'keyed' | 'transaction'>,
  location: string,
  now: () => number = Date.now,
): Ownership {
  /** False if another version than this is stored. */
  const put = (collection: string, key: string, value: unknown, version: number): Promise<boolean> =>
    transaction((tx) => tx.keyed.put(collection, key, value, { version })).then(
      () => true,
      (error) => {
        if (isStorageError(error, 'conflict')) return false
        throw error
      },
    )
  return {
    async store() {
      const known = await storeId(keyed)
      if (known !== '') return known
      // Of several servers that start at once, only one creates it.
      await put(owner.collection, owner.key, crypto.randomUUID(), 0)
      return storeId(keyed)
    },
    async lease() {
      const id = crypto.randomUUID()
      const before = await read(keyed, { collection: writers, key: location })
      if (before !== undefined && (before.value as Held).until_ms > now()) return null
      let version = before?.version ?? 0
      const hold = async (until_ms: number): Promise<boolean> => {
        const held = await put(writers, location, { id, until_ms } satisfies Held, version)
        if (held) version++
        return held
      }
      let until_ms = now() + leaseMs
      if (!(await hold(until_ms))) return null
      let renewing: Promise<boolean> = Promise.resolve(true)
      return {
        renew() {
          renewing = renewing.then(async (isHeld) => {
            if (!isHeld || until_ms - now() > leaseMs / 2) return isHeld && until_ms > now()
            until_ms = now() + leaseMs
            return hold(until_ms)
          })
          return renewing
        },
        async release() {
          if (await renewing.catch(() => false)) await hold(0)
        },
      }
    },
  }
}

/** The folder or object store of the index. Each database has its own folder, since servers of several databases may share a data directory. */
export function searchLocation({
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
  const url = searchLocation(settings)
  // Servers with a folder each of their own don't wait for each other.
  const location = settings.search_url ?? `${await folderId(settings.store_url)}${url}`
  return openLanceSearch({ url, own: settings.search_url === null, ownership: ownershipOf(store, location), log })
}

/** Distinguishes the folders of servers on different machines that share a database; one machine's store has no other servers. */
async function folderId(store_url: string | null): Promise<string> {
  if (store_url === null) return ''
  const { hostname } = await import('node:os')
  return `${hostname()}:`
}

/** Rebuilds the index of decisions of another version, beside the calls. */
export const followSearchedTexts = ({ store, now, log, yieldToEventLoop }: Services): { close(): Promise<void> } =>
  followTexts({
    store,
    now,
    after: later,
    yieldToEventLoop,
    failed: (error) => log('warn', 'decisions of another version are not indexed again yet', describeError(error)),
  })
