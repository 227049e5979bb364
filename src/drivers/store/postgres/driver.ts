/** The store for many servers: PostgreSQL holds the documents and everything that the servers share. Opens it and connects its parts. */
import { eraserOf } from '../../../../sdk/storage/erasure.ts'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Appended, Store, StoreOptions } from '../../../../sdk/storage/store.ts'
import { type ClientOptions, connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { openDatabase } from '../../shared/postgres/database.ts'
import { migrate } from '../../shared/postgres/migrate.ts'
import { translating } from '../../shared/translating.ts'
import { auditReader, auditWriter } from './audit.ts'
import { openBatcher } from './batcher.ts'
import { decisionWriter } from './decisions.ts'
import { embeddingWriter } from './embeddings.ts'
import { feedReader } from './feed.ts'
import { followHistory } from './history.ts'
import { keyedReader, keyedWriter } from './keyed.ts'
import { migrations } from './migrate.ts'
import { decisionReader, edgeReader } from './read.ts'
import { leaseTokens } from './statements.ts'
import { threadReader, threadWriter } from './thread.ts'

export type PostgresStoreOptions = StoreOptions & Pick<ClientOptions, 'url'> & Partial<ClientOptions>

export interface PostgresStore extends Store {
  /** Takes up to `tokens` of a rate limit that servers share; resolves with the number taken. */
  lease(agent: string, tokens: number, bucket: { per_minute: number; burst: number }): Promise<number>
  /** Resolves when the database answers, and has the tables. @throws if it doesn't */
  ping(): Promise<void>
  /** Resolves if the database turns out to be an earlier state of itself. Every write fails from then on: the store must be opened again. */
  lost: Promise<StorageError>
}

/**
 * Opens the store, and creates or updates its tables.
 * @throws StorageError `unavailable` if the database can't be reached, `invalid` if a newer program made its tables
 */
export async function openPostgresStore({
  analyse,
  now,
  url,
  connections = 16,
  statement_timeout_ms = 30_000,
  ...limits
}: PostgresStoreOptions): Promise<PostgresStore> {
  const client = await connect({ ...limits, url, connections, statement_timeout_ms })
  try {
    await migrate(client, 'store', migrations)
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot create the tables')
  }
  const db = openDatabase(client.read)
  const reads = translating((error) => storageErrorOf(error, 'cannot read'))
  const history = followHistory()
  const transaction = openBatcher(client, history)
  const feed = feedReader(db, history)
  const thread = threadReader(client)
  let isClosed = false
  return {
    driver: 'postgres',
    decisions: reads(decisionReader(db)),
    edges: reads(edgeReader(db)),
    feed: reads(feed),
    keyed: reads(keyedReader(db)),
    audit: reads(auditReader(db)),
    thread: reads({
      ...thread,
      async head() {
        const head = await thread.head()
        // Nothing is signed that contradicts what was signed before.
        await feed.head()
        return head
      },
    }),
    transaction: async (work) => {
      if (isClosed) throw new StorageError('unavailable', 'the store is closed')
      history.require()
      return transaction((access) => {
        const { verb } = access
        const [decisions, trail, thread] = [
          decisionWriter(access, analyse),
          auditWriter(access, now),
          threadWriter(access),
        ]
        return work({
          decisions,
          embeddings: embeddingWriter(access),
          keyed: keyedWriter(access),
          thread: { newest: verb(thread.newest) },
          append: verb(({ audit = [], acts = [] }: Appended) => {
            for (const entry of audit) trail.append(entry)
            thread.append(acts)
          }),
          erase: eraserOf({
            decision: decisions.erase,
            acts: verb(thread.erase),
            audit: verb(trail.redact),
            expired: verb(trail.expire),
          }),
        })
      })
    },
    ...reads({
      async lease(agent: string, tokens: number, { burst, per_minute }: { per_minute: number; burst: number }) {
        // Not repeated if its answer is lost: it would take tokens twice.
        const rows = await client.begin((query) =>
          openDatabase(query).execute(leaseTokens(agent, tokens, { burst, perMs: per_minute / 60_000 })),
        )
        return (rows as unknown as { granted: number }[])[0]!.granted
      },
    }),
    reconcile: async () => [],
    // PostgreSQL itself removes row versions that are no longer visible.
    scrub: async () => [],
    async ping() {
      history.require()
      await client.ping('select from generations limit 1')
    },
    lost: history.lost,
    close() {
      isClosed = true
      return client.close()
    },
  }
}
