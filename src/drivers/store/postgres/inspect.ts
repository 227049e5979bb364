/** Inspects a PostgreSQL store without changing anything: facts about the server, its tables and the vectors for an operator. */
import { outboxCollection } from '../../../../sdk/storage/keyed.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { ThreadReads } from '../../../../sdk/storage/thread.ts'
import { type Client, connect, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { versionOf } from '../../shared/postgres/migrate.ts'
import type { VectorState } from '../sqlite/inspect.ts'
import { auditReader, finder, keyedReader } from './coordination.ts'
import { migrations } from './migrate.ts'
import { decisionReader } from './read.ts'
import { wrongTallies } from './recount.ts'
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
  /** Tallies that differ from a recount. */
  wrong_tallies: string[]
}

async function vectorState(query: Query): Promise<VectorState> {
  const [counts] = await query<Omit<VectorState, 'building'> & { building: boolean; bare: number }>(
    `with active as (select number, embedder, dimensions from generations where state = 'active')
     select (select embedder from active) as embedder, exists (select from generations where state = 'building') as building,
       count(*)::float8 as decisions,
       (count(*) filter (where e.num is null))::float8 as bare,
       (count(*) filter (where e.num is null and o.key is not null))::float8 as waiting,
       (select value ->> 'error' from keyed_records where collection = $1 and value ->> 'error' is not null
         order by (value ->> 'attempts')::int desc limit 1) as error,
       (select count(*)::float8 from embeddings x left join decisions using (num), active a where x.generation = a.number
         and (decisions.num is null or length(x.structure) <> a.dimensions * 4)) as odd
     from decisions d left join embeddings e on e.num = d.num and e.generation = (select number from active)
       left join keyed_records o on o.collection = $1 and o.key = d.id`,
    [outboxCollection],
  )
  const { bare, ...rest } = counts!
  return { ...rest, missing: bare - rest.waiting }
}

/** Number of keyed records in a collection; 0 if there are no tables. @throws StorageError `unavailable` */
export const keyedCount = (url: string, collection: string): Promise<number> =>
  looking(url, async ({ read }) => {
    if ((await versionOf(read, 'store')) === null) return 0
    const [row] = await read<{ n: number }>('select count(*)::int as n from keyed_records where collection = $1', [
      collection,
    ])
    return row!.n
  })

async function looking<T>(url: string, look: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 120_000, make: false })
  try {
    return await look(client)
  } catch (error) {
    throw storageErrorOf(error, 'cannot look')
  } finally {
    await client.close()
  }
}

/** @throws StorageError `unavailable` if the database can't be reached */
export const inspectPostgres = (url: string): Promise<Inspected> =>
  looking(url, async (client) => {
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
      vectors: version === migrations.length ? await vectorState(client.read) : null,
      wrong_tallies: version === migrations.length ? await wrongTallies(client.read) : [],
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
  return {
    thread: threadReader(client),
    audit: auditReader(client),
    keyed: keyedReader(client, finder(client)),
    decisions: decisionReader(client),
    close: () => client.close(),
  }
}
