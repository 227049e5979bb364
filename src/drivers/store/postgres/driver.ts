/** The store for many servers: PostgreSQL holds the documents and everything that the servers share. Opens it and connects its parts. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { countDecisions } from '../../../../sdk/storage/groups.ts'
import { outboxCollection } from '../../../../sdk/storage/keyed.ts'
import type { Store, StoreOptions } from '../../../../sdk/storage/store.ts'
import { type ClientOptions, connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { migrate } from '../../shared/postgres/migrate.ts'
import { translating } from '../../shared/translating.ts'
import { groupCommit } from './commit.ts'
import { auditReader, auditWriter, finder, keyedReader, keyedWriter, leaser, remember } from './coordination.ts'
import { decisionWriter } from './decisions.ts'
import { embeddingReader, embeddingWriter, type KnownGenerations } from './embeddings.ts'
import { feedReader, levelFeed } from './feed.ts'
import { folding, foldTallies } from './folding.ts'
import { migrations } from './migrate.ts'
import { decisionReader, edgeReader } from './read.ts'
import { threadReader, threadWriter } from './thread.ts'
import { type Transactions, transact } from './transaction.ts'

export type PostgresStoreOptions = StoreOptions & Pick<ClientOptions, 'url'> & Partial<ClientOptions>

export interface PostgresStore extends Store {
  /** Leases tokens of a rate limit that servers share. */
  lease: ReturnType<typeof leaser>
  /** Resolves when the database answers. @throws if it doesn't */
  ping(): Promise<void>
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
    await levelFeed(client)
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot create the tables')
  }
  const reads = translating((error) => storageErrorOf(error, 'cannot read'))
  const decisions = reads(decisionReader(client))
  const facts = reads({
    async status() {
      const [[waiting], count] = await Promise.all([
        client.read<{ count: number }>('select count(*)::int as count from keyed_records where collection = $1', [
          outboxCollection,
        ]),
        countDecisions(decisions, {}),
      ])
      return { decisions: count, outbox: waiting!.count, findings: [] }
    },
  })
  const find = finder(client)
  const remembered = remember()
  const changed = folding(client)
  const known: KnownGenerations = { last: null }
  const transactions: Transactions = {
    client,
    commit: groupCommit(client, changed),
    changed,
    forget() {
      known.last = null
    },
  }
  let isClosed = false
  // Folds the changes left by servers that have ended, and those of a restored or copied database, while the first calls run.
  foldTallies(client).catch(() => {})
  return {
    driver: 'postgres',
    decisions,
    edges: reads(edgeReader(client)),
    embeddings: reads(embeddingReader(client)),
    feed: reads(feedReader(client)),
    keyed: reads(keyedReader(client, find, remembered)),
    audit: reads(auditReader(client)),
    thread: reads(threadReader(client)),
    transaction: async (work) => {
      if (isClosed) throw new StorageError('unavailable', 'the store is closed')
      return transact(transactions, (access, verb) =>
        work({
          decisions: decisionWriter(access, verb, analyse),
          embeddings: embeddingWriter(access, verb, known),
          keyed: keyedWriter(access, verb, find, remembered),
          audit: auditWriter(access, verb, now),
          thread: threadWriter(access, verb),
        }),
      )
    },
    ...facts,
    reconcile: async () => [],
    // PostgreSQL itself removes row versions that are no longer visible.
    scrub: async () => ((await foldTallies(client, true)) ? [] : ['counts of decisions: another server folds them']),
    lease: leaser(client),
    ping: () => client.ping(),
    close() {
      isClosed = true
      return client.close()
    },
  }
}
