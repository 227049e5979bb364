/** Inspects a PostgreSQL store without changing anything: facts about the server, its tables and the vectors for an operator. */
import { eq } from 'drizzle-orm'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { ThreadReads } from '../../../../sdk/storage/thread.ts'
import { type Client, connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { type Database, openDatabase } from '../../shared/postgres/database.ts'
import { versionOf } from '../../shared/postgres/migrate.ts'
import type { VectorState } from '../sqlite/inspect.ts'
import { auditReader } from './audit.ts'
import { feedReader } from './feed.ts'
import { followHistory } from './history.ts'
import { keyedReader } from './keyed.ts'
import { migrations } from './migrate.ts'
import { decisionReader, edgeReader } from './read.ts'
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
  /** What is stored a second time, so that it is found and counted, and differs from what it is made of. */
  derived: string[]
}

/** Text with NUL or U+0001 is stored otherwise in columns, and left out. */
const ifPlain = (json: string, test: string): string =>
  `case when ${json}::text ~ '\\\\u000[01]' then false else ${test} end`

/** Names of rows that differ from those of which they are made, by what they are; filters, counts and figures read them. */
const derived: Readonly<Record<string, string>> = {
  'source key': `select id as name from decisions where ${ifPlain('doc', `source_key is distinct from doc ->> 'source_key'`)}`,
  reasons: `select id as name from decisions d where ${ifPlain(
    'doc',
    `exists (select from (select type, uses from reasons r where r.id = d.id) a full join
     (select r ->> 'type' as type, count(*) as uses from json_array_elements(doc -> 'reasons') r group by 1) b using (type)
     where a.uses is distinct from b.uses)`,
  )}`,
  count: `select coalesce(a.key, b.key) || ' ' || coalesce(a.value, b.value) as name from (select * from totals where count <> 0) a full join
    (select v.key, v.value, count(*) as count from decisions d, counted_values(d) v group by 1, 2) b
    on a.key = b.key and a.value = b.value where a.count is distinct from b.count`,
  'audit line': `select seq::text as name from audit where ${ifPlain(
    'entry',
    `agent <> entry ->> 'agent' or method <> entry ->> 'method' or allowed is distinct from (entry ->> 'allowed')::boolean
     or to_jsonb(rules) <> (entry -> 'rules')::jsonb or abs(at_ms - extract(epoch from (entry ->> 'at')::timestamptz) * 1000) > 0.5`,
  )}`,
}

async function derivedFlaws({ read }: Client): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(derived).map(async ([what, text]) =>
      (await read<{ name: string }>(`${text} limit 10`)).map(
        ({ name }) =>
          `the ${what} ${name} in the catalogue is not that of its record: the database was changed by hand`,
      ),
    ),
  )
  return found.flat()
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
      derived: version === migrations.length ? await derivedFlaws(client) : [],
    }
  })

/** Readers of the thread and of the data it refers to; null if the tables are not those of this program. */
export async function openReaders(
  url: string,
): Promise<
  | (Pick<Store, 'audit' | 'keyed' | 'decisions' | 'edges' | 'feed'> & { thread: ThreadReads; close(): Promise<void> })
  | null
> {
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
    edges: edgeReader(db),
    feed: feedReader(db, followHistory()),
    close: () => client.close(),
  }
}
