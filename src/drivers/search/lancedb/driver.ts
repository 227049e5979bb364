/**
 * The search driver of stores that have outgrown memory: the newest decisions are held in memory, all others in segments on disk or in
 * an object store, which LanceDB indexes. A small store is held in memory whole, and LanceDB is not loaded.
 */
import type { Search } from '../../../../sdk/storage/search.ts'
import { checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
import type { LogWriter } from '../../../core/log.ts'
import { indexesByGeneration } from '../by-generation.ts'
import { openSegmentedIndex } from './index.ts'
import { prefixOf } from './keeper.ts'
import { type Libraries, tableNames } from './library.ts'
import type { Manifest, Manifests } from './manifest.ts'
import { openPlace } from './place.ts'
import { tablesOf } from './write.ts'

export interface SegmentOptions {
  /** A folder, or an address of an object store such as `s3://bucket/prefix`. */
  url: string
  /** Whether the folder is in the store's own data, so that what another store left there is removed. Otherwise that is refused. [false] */
  own?: boolean
  /** Which segments count: kept where all servers of a place agree. */
  manifests: Manifests
  /** Settings of the object store, such as `region`, `endpoint`, `access_key_id`. It must honour conditional writes. */
  storage_options?: Record<string, string>
  /** This many changes are held in memory before they are written as a segment. [20 000] */
  tail_most?: number
  /** From this many vectors on, a segment is searched by an approximate index: LanceDB's scan of 8 000 takes 15 times as long. [500] */
  index_from?: number
  /** Scans of at least this many vectors run in a worker and do not block the process. [20 000] */
  worker_from?: number
  /** Loads LanceDB. */
  library?: () => Promise<Libraries>
  log?: LogWriter
}

export function openSegmentSearch({
  url,
  own = false,
  manifests,
  storage_options = {},
  tail_most = 20_000,
  index_from = 500,
  worker_from = 20_000,
  library,
  log = () => {},
}: SegmentOptions): Search {
  const place = openPlace({ url, own, storage_options, manifests, tail_most, index_from, library, now: Date.now, log })
  const indexes = indexesByGeneration(async (generation) => {
    await place.check()
    const key = await place.key(generation.number)
    const stored = key === null ? undefined : ((await manifests.read(key))?.value as Manifest | undefined)
    if (stored) checkGeneration({ ...stored, number: generation.number }, generation)
    return openSegmentedIndex(place, generation, worker_from)
  })

  return {
    driver: 'lancedb',
    open: indexes.get,
    async keepOnly(number) {
      await indexes.close(number)
      const keys = await place.keys()
      if (keys === null) return
      for (const key of await manifests.keys(keys)) {
        const other = Number(key.slice(keys.length))
        if (other === number) continue
        const names = ((await manifests.read(key))?.value as Manifest | undefined)?.segments ?? []
        await manifests.remove(key)
        if (names.length === 0) continue
        const { connection } = await place.engine()
        const known = new Set(names.flatMap(({ name }) => tablesOf(name)))
        for (const name of await tableNames(connection))
          if (known.has(name) || name.startsWith(prefixOf(other))) await connection.dropTable(name).catch(() => {})
      }
    },
    close: () => indexes.close(),
  }
}
