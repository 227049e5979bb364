/** LanceDB itself: loaded when the first table is written or read, not before. */
import { tmpdir } from 'node:os'
import type { Connection } from '@lancedb/lancedb'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'

export interface Libraries {
  lancedb: typeof import('@lancedb/lancedb')
  arrow: typeof import('apache-arrow')
}

/** LanceDB, connected to the folder or object store of the index. */
export interface Engine extends Libraries {
  connection: Connection
}

/** @throws StorageError `unavailable` if LanceDB is not part of this build */
export async function load(): Promise<Libraries> {
  try {
    return { lancedb: await import('@lancedb/lancedb'), arrow: await import('apache-arrow') }
  } catch (error) {
    // The library's message is about npm; its cause is the error of the operating system.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const message = `LanceDB does not load; a compiled cstp unpacks it into ${tmpdir()} (TMPDIR), which must be writable, and may have been built without it`
    throw new StorageError('unavailable', message, { cause })
  }
}

/** The names of all tables. */
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

/** LanceDB warns if a table that is to be replaced does not exist. */
export const creation = async (connection: Connection, name: string): Promise<{ mode: 'create' | 'overwrite' }> => ({
  mode: (await tableNames(connection)).includes(name) ? 'overwrite' : 'create',
})

/** Errors of LanceDB itself have this code. */
export const isNative = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === 'GenericFailure'

export function refuse(error: unknown): never {
  if (error instanceof StorageError) throw error
  throw new StorageError('unavailable', `LanceDB: ${messageOf(error)}`, { cause: error })
}
