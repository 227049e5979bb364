/** LanceDB itself: loaded when the first segment is written or read, not before. */
import { dlopen, suffix } from 'bun:ffi'
import { tmpdir } from 'node:os'
import type { Connection } from '@lancedb/lancedb'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { boundMemory } from '../../shared/allocation.ts'

export interface Libraries {
  lancedb: typeof import('@lancedb/lancedb')
  arrow: typeof import('apache-arrow')
}

/** LanceDB, connected to the place of the segments. */
export interface Engine extends Libraries {
  connection: Connection
  /** Null for an object store. */
  folder: string | null
}

/** Room for both indexes of a million decisions: with less, semantic and keyword search evict each other's pages, which takes seven times the CPU. */
const INDEX_CACHE_BYTES = 256_000_000n
const METADATA_CACHE_BYTES = 16_000_000n

/** @throws StorageError `unavailable` if it can't reach the place */
export async function connect(
  libraries: Libraries,
  url: string,
  storageOptions: Record<string, string>,
  folder: string | null,
): Promise<Engine> {
  const { connect, Session } = libraries.lancedb
  const session = new Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)
  return { ...libraries, folder, connection: await connect(url, { storageOptions, session }).catch(refuse) }
}

/** @throws StorageError `unavailable` if LanceDB is not part of this build */
export async function load(): Promise<Libraries> {
  quietUnlessAsked()
  boundMemory()
  try {
    return { lancedb: await import('@lancedb/lancedb'), arrow: await import('apache-arrow') }
  } catch (error) {
    // The library's message is about npm; its cause is the error of the operating system.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const message = `LanceDB does not load; a compiled cstp unpacks it into ${tmpdir()} (TMPDIR), which must be writable, and may have been built without it`
    throw new StorageError('unavailable', message, { cause })
  }
}

/** The names of all tables at the place. */
export async function tableNames(connection: Connection): Promise<string[]> {
  const names: string[] = []
  let page: string | null | undefined
  do {
    const { tables, pageToken } = await connection.listTables(page ? { pageToken: page } : {})
    names.push(...tables)
    page = pageToken
  } while (page)
  return names
}

/** Closes a handle. LanceDB refuses to close one that is in use, which is freed when it is collected. */
export function closeQuietly(handle: { close(): void }): void {
  try {
    handle.close()
  } catch {
    // It is in use: LanceDB reports nothing else here.
  }
}

/** Errors of LanceDB itself have this code. */
export const isNative = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === 'GenericFailure'

export function refuse(error: unknown): never {
  if (error instanceof StorageError) throw error
  throw new StorageError('unavailable', `LanceDB: ${messageOf(error)}`, { cause: error })
}

const c_library = process.platform === 'linux' ? 'libc.so.6' : `libSystem.B.${suffix}`

/**
 * Limits LanceDB's own log, which goes to stderr in a format of its own, to errors. Native code does not see what is written to
 * `process.env`, so the variable is set in the C library.
 */
function quietUnlessAsked(): void {
  if (process.env.LANCEDB_LOG !== undefined) return
  try {
    const { symbols } = dlopen(c_library, { setenv: { args: ['cstring', 'cstring', 'int'], returns: 'int' } })
    symbols.setenv(Buffer.from('LANCEDB_LOG\0'), Buffer.from('error\0'), 1)
  } catch {
    // Another C library: its warnings are shown.
  }
}
