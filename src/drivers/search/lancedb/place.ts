/** Where the index is stored, and who may write it. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { LogWriter } from '../../../core/log.ts'
import { type Engine, isNative, type Libraries, load, refuse, tableNames } from './library.ts'
import { generationOf, readState, type StoredState } from './state.ts'

/** Room for the indices of a million decisions: with less, semantic and keyword search evict each other's pages. */
const indexCacheBytes = 256_000_000n
const metadataCacheBytes = 16_000_000n

/** The right to write an index, which ends by itself if it is not renewed. */
export interface Lease {
  /** False if another process has it now. */
  renew(): Promise<boolean>
  release(): Promise<void>
}

/** What all servers of a store agree on. */
export interface Ownership {
  /** Id of the store; the same for all its servers and copies. */
  store(): Promise<string>
  /** Null while another process writes. */
  lease(): Promise<Lease | null>
}

export interface PlaceOptions {
  /** A folder, or an address of an object store such as `s3://bucket/prefix`. */
  url: string
  /** Whether the folder is in the store's own data, so that what another store left there is removed. Otherwise that is refused. [false] */
  own?: boolean
  ownership: Ownership
  /** Settings of the object store, such as `region`, `endpoint`, `access_key_id`. It must honour conditional writes. */
  storage_options?: Record<string, string>
  /** Loads LanceDB. */
  library?: () => Promise<Libraries>
  log?: LogWriter
}

export type Place = ReturnType<typeof openPlace>

export function openPlace({
  url,
  own = false,
  ownership,
  storage_options = {},
  library = load,
  log = () => {},
}: PlaceOptions) {
  const folder = /^[a-z][a-z0-9+]*:\/\//i.test(url) ? null : url
  let engine: Promise<Engine> | null = null
  let absent = false

  /** @throws StorageError `unavailable` if LanceDB is not there, or the folder or object store can't be reached */
  const open = (): Promise<Engine> => {
    engine ??= connect().catch((error) => {
      engine = null
      throw error
    })
    return engine
  }

  async function connect(): Promise<Engine> {
    const libraries = await library().catch((error) => {
      absent = true
      throw error
    })
    const session = new libraries.lancedb.Session(indexCacheBytes, metadataCacheBytes)
    const connection = await libraries.lancedb.connect(url, { storageOptions: storage_options, session }).catch(refuse)
    return { ...libraries, connection }
  }

  async function dropTables(isDropped: (generation: number) => boolean): Promise<void> {
    const { connection } = await open()
    for (const name of await tableNames(connection)) {
      const generation = generationOf(name)
      if (generation !== null && isDropped(generation)) await connection.dropTable(name)
    }
  }

  return {
    url,
    storage_options,
    log,
    ownership,
    engine: open,
    dropTables,
    /** Whether LanceDB was looked for and is not there. */
    absent: () => absent,
    /** Whether nothing can be stored, so that LanceDB needs not be loaded to know. */
    isEmpty: () => folder !== null && !existsSync(folder),
    /**
     * The stored state of a generation; null if there is none.
     * @throws StorageError `conflict` if it is another store's
     */
    async state(generation: number): Promise<StoredState | null> {
      const state = await readState(await open(), generation)
      if (state === null || state.store === (await ownership.store())) return state
      if (folder === null || !own)
        throw new StorageError(
          'conflict',
          `${url} holds the search index of another store, which would be damaged: give this store a folder or prefix of its own in CSTP_SEARCH_URL; if the other store is gone, remove everything there and start again`,
        )
      log('warn', 'The search index in the data directory belongs to another store; it is rebuilt', { folder })
      await dropTables(() => true)
      return null
    },
    /** Removes a damaged index as far as possible. */
    async clear(generation: number): Promise<void> {
      await dropTables((number) => number === generation).catch(async () => {
        if (folder !== null && own) await rm(folder, { recursive: true, force: true })
      })
    },
    /**
     * Whether an error, repeated, means that files are missing or damaged, and not that they can't be reached now. A folder can be reached,
     * unless the process has too many files open; an object store must report that something does not exist.
     */
    isLoss: (error: unknown): boolean =>
      !/too many open files/i.test(String(error)) &&
      isNative(error) &&
      (folder !== null || /not found|NoSuchKey|\b404\b/i.test(String(error))),
  }
}
