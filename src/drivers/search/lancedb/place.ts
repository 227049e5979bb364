/** Where the segments of a server lie: a folder or an object store, and the manifests that say which of them count. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogWriter } from '../../../core/log.ts'
import { syncOne } from './durable.ts'
import { connect, type Engine, isNative, type Libraries, load } from './library.ts'
import type { Manifests } from './manifest.ts'

export interface Place {
  /** LanceDB, loaded at the first call. @throws StorageError `unavailable` */
  engine(): Promise<Engine>
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

const idFile = 'place'
const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException)?.code === 'ENOENT'

type Options = Pick<Place, 'manifests' | 'now' | 'log' | 'index_from' | 'tail_most'> & {
  library?: (() => Promise<Libraries>) | undefined
  url: string
  storage_options: Record<string, string>
}

export function openPlace({ url, storage_options, library = load, ...rest }: Options): Place {
  const folder = /^[a-z][a-z0-9+]*:\/\//i.test(url) ? null : url
  let engine: Promise<Engine> | null = null
  let id: string | null = folder === null ? url : null
  let absent = false

  /** A folder that is copied, emptied or restored elsewhere is another place: its name is in it, not in its path. */
  async function readId(dir: string): Promise<string> {
    const file = join(dir, idFile)
    const known = await readFile(file, 'utf8').catch((error) => {
      if (isMissing(error)) return ''
      throw error
    })
    return known.trim()
  }

  async function makeId(dir: string): Promise<void> {
    const file = join(dir, idFile)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await writeFile(file, `${crypto.randomUUID()}\n`, { flag: 'wx', mode: 0o600, flush: true }).catch((error) => {
      // Another process was faster.
      if (error.code !== 'EEXIST') throw error
    })
    await syncOne(dir)
  }

  const keys = async (): Promise<string | null> => {
    if (id === null && folder !== null) id = (await readId(folder)) || null
    return id === null ? null : `${id}/`
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
    async engine() {
      const libraries = await library().catch((error) => {
        absent = true
        throw error
      })
      if (folder !== null && id === null) {
        await makeId(folder)
        id = await readId(folder)
      }
      engine ??= connect(libraries, url, storage_options)
      engine.catch(() => {
        engine = null
      })
      return engine
    },
    // Files in a folder can be reached; what an object store refuses may be its network, unless it says that something is not there.
    isLoss: (error) => isNative(error) && (folder !== null || /not found|NoSuchKey|\b404\b/i.test(String(error))),
  }
}
