/** Inspects a PostgreSQL store without changing anything: facts about the server, its tables and the vectors for an operator. */
import { eq } from 'drizzle-orm'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { ThreadReads } from '../../../../sdk/storage/thread.ts'
import { type Client, connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { type Database, openDatabase } from '../../shared/postgres/database.ts'
import { versionOf } from '../../shared/postgres/migrate.ts'
import type { VectorState } from '../sqlite/inspect.ts'
import { auditReader } from './audit.ts'
import { keyedReader } from './keyed.ts'
import { migrations } from './migrate.ts'
import { decisionReader } from './read.ts'
import { keyed_records } from './schema.ts'
import { countVectors } from './statements.ts'
import { threadReader } from './thread.ts'

export interface Inspected {
  /** Version of the server, such as `15.13`. */
  server_version: string
  /** Server settings with which acknowledged data can be lost. */
  forgetful: string[]
  /** Version of the tables; null if there are none. */
  version: number | null
  known_version: number
  /** Null if there are no tables, or their version is another. */
  vectors: VectorState | null
}

async function vectorState(db: Database): Promise<VectorState> {
  const [row] = (await db.execute(countVectors)) as unknown as (Omit<VectorState, 'missing'> & { unindexed: number })[]
  const { unindexed, ...rest } = row!
  return { ...rest, missing: unindexed - rest.waiting }
}

/** Number of keyed records in a collection; 0 if there are no tables. @throws StorageError `unavailable` */
export const keyedCount = (url: string, collection: string): Promise<number> =>
  inspecting(url, async ({ read }) => {
    if ((await versionOf(read, 'store')) === null) return 0
    return openDatabase(read).$count(keyed_records, eq(keyed_records.collection, collection))
  })

async function inspecting<T>(url: string, inspect: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 120_000, make: false })
  try {
    return await inspect(client)
  } catch (error) {
    throw storageErrorOf(error, 'cannot inspect')
  } finally {
    await client.close()
  }
}

/** @throws StorageError `unavailable` if the database can't be reached */
export const inspectPostgres = (url: string): Promise<Inspected> =>
  inspecting(url, async (client) => {
    const rows = await client.read<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in ('server_version', 'fsync', 'full_page_writes', 'synchronous_commit')`,
    )
    const settings = new Map(rows.map(({ name, setting }) => [name, setting]))
    const version = await versionOf(client.read, 'store')
    return {
      server_version: settings.get('server_version') ?? '',
      forgetful: ['fsync', 'full_page_writes', 'synchronous_commit'].filter((name) => settings.get(name) === 'off'),
      version,
      known_version: migrations.length,
      vectors: version === migrations.length ? await vectorState(openDatabase(client.read)) : null,
    }
  })

/** Readers of the thread and of the data it refers to; null if the tables are not those of this program. */
export async function openReaders(
  url: string,
): Promise<(Pick<Store, 'audit' | 'keyed' | 'decisions'> & { thread: ThreadReads; close(): Promise<void> }) | null> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 120_000, make: false })
  if ((await versionOf(client.read, 'store')) !== migrations.length) {
    await client.close()
    return null
  }
  const db = openDatabase(client.read)
  return {
    thread: threadReader(client),
    audit: auditReader(db),
    keyed: keyedReader(db),
    decisions: decisionReader(db),
    close: () => client.close(),
  }
}
