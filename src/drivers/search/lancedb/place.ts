/** Where the segments of a server lie: a folder or an object store, and the manifests that say which of them count. */
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import type { LogWriter } from '../../../core/log.ts'
import { connect, type Engine, isNative, type Libraries, load } from './library.ts'
import type { Manifests } from './manifest.ts'
import { clearFolder, foreign, ownerOf, takeFolder, takePrefix } from './owner.ts'
import { FlatError } from './records.ts'

export interface Place {
  /** LanceDB, loaded at the first call. @throws StorageError `unavailable`, `conflict` if the place is another store's */
  engine(): Promise<Engine>
  /** Whether the place is this store's, as far as can be told now. @throws StorageError `conflict` */
  check(): Promise<void>
  /** Whether LanceDB was looked for and is not there. */
  absent(): boolean
  /** Null for an object store. */
  folder: string | null
  /** The key of a generation's manifest; null while the folder does not exist. */
  key(generation: number): Promise<string | null>
  /** Begins the keys of all manifests of this place; null while the folder does not exist. */
  keys(): Promise<string | null>
  manifests: Manifests
  now(): number
  log: LogWriter
  /** Whether an error, repeated, says that files are missing or damaged, and not that they can't be reached just now. */
  isLoss(error: unknown): boolean
  index_from: number
  tail_most: number
}

/** An object store that does not answer so long is asked again before anything is read or written there. */
const ASKED_MS = 5_000

type Options = Pick<Place, 'manifests' | 'now' | 'log' | 'index_from' | 'tail_most'> & {
  library?: (() => Promise<Libraries>) | undefined
  url: string
  storage_options: Record<string, string>
  own: boolean
}

export function openPlace({ url, storage_options, own, library = load, ...rest }: Options): Place {
  const folder = /^[a-z][a-z0-9+]*:\/\//i.test(url) ? null : url
  let engine: Promise<Engine> | null = null
  let id: string | null = folder === null ? url : null
  let absent = false

  /** Whether this store may use what that one has taken; what is left in the store's own data it may clear away. */
  async function isOurs(store: string): Promise<boolean> {
    if (store === (await rest.manifests.store())) return true
    if (folder === null || !own) throw foreign(url)
    rest.log('warn', 'The search index in the data directory belongs to another store; it is rebuilt', { folder })
    await clearFolder(folder)
    return false
  }

  async function take(connected: Engine): Promise<void> {
    const store = await rest.manifests.store()
    if (folder === null) {
      if ((await takePrefix(connected, store)) !== store) throw foreign(url)
      return
    }
    const wanted = { place: id ?? crypto.randomUUID(), store }
    const owner = await takeFolder(folder, wanted)
    if (await isOurs(owner.store)) id ??= owner.place
    else id = (await takeFolder(folder, wanted)).place
  }

  const keys = async (): Promise<string | null> => {
    if (id === null && folder !== null) {
      const owner = await ownerOf(folder)
      if (owner !== null && (await isOurs(owner.store))) id = owner.place
    }
    return id === null ? null : `${id}/`
  }

  async function open(): Promise<Engine> {
    const libraries = await library().catch((error) => {
      absent = true
      throw error
    })
    engine ??= connect(libraries, url, storage_options, folder)
    engine.catch(() => {
      engine = null
    })
    const connected = await engine
    // Each time: meanwhile the place may have been emptied, and taken by another store.
    await take(connected)
    return connected
  }

  return {
    ...rest,
    folder,
    keys,
    async key(generation) {
      const begin = await keys()
      return begin === null ? null : `${begin}${generation}`
    },
    absent: () => absent,
    engine: open,
    async check() {
      if (folder !== null) return void (await keys())
      if ((await library().catch(() => null)) === null) return
      const refused = open().then(
        () => null,
        (error) => (isStorageError(error, 'conflict') ? error : null),
      )
      const error = await Promise.race([refused, Bun.sleep(ASKED_MS).then(() => null)])
      if (error !== null) throw error
    },
    // Files in a folder can be reached, unless the process has too many others open; what an object store refuses may be its network,
    // unless it says that something is not there.
    isLoss: (error) =>
      !/too many open files/i.test(String(error)) &&
      (error instanceof FlatError ||
        (isNative(error) && (folder !== null || /not found|NoSuchKey|\b404\b/i.test(String(error))))),
  }
}
