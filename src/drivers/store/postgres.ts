/** The store for many servers: PostgreSQL holds the document and everything that the servers agree on. Opens it and puts its parts together. */
import type { Store, StoreOptions } from '../../../sdk/storage/store.ts'
import { type ClientOptions, connect, storageErrorOf } from '../postgres/client.ts'
import { auditReader, auditWriter } from './postgres/audit.ts'
import { breakerReader, breakerWriter } from './postgres/breakers.ts'
import { decisionWriter } from './postgres/decisions.ts'
import { embeddingReader, embeddingWriter, feedReader } from './postgres/embeddings.ts'
import { idempotency } from './postgres/idempotency.ts'
import { loginReader, loginWriter } from './postgres/logins.ts'
import { migrate } from './postgres/migrate.ts'
import { outboxReader, outboxWriter } from './postgres/outbox.ts'
import { leaser } from './postgres/rate.ts'
import { decisionReader, edgeReader } from './postgres/read.ts'
import { sessionReader, sessionWriter } from './postgres/sessions.ts'
import { transact } from './postgres/transaction.ts'
import { translating } from './translated.ts'

export type PostgresStoreOptions = StoreOptions &
  Pick<ClientOptions, 'url'> &
  Partial<ClientOptions> & {
    /** Postings of a question's terms from which a search first asks which terms decide, instead of looking at all. */
    many_postings?: number
  }

export interface PostgresStore extends Store {
  /** Takes tokens of a rate limit that servers share. */
  lease: ReturnType<typeof leaser>
  /** Resolves when the database answers. @throws when it doesn't */
  ping(): Promise<void>
}

/**
 * Opens the store, making or updating its tables.
 * @throws StorageError `unavailable` when the database can't be reached, `invalid` when a newer program made its tables
 */
export async function openPostgresStore({
  analyse,
  now,
  url,
  connections = 16,
  statement_timeout_ms = 30_000,
  many_postings = 20_000,
}: PostgresStoreOptions): Promise<PostgresStore> {
  const client = await connect({ url, connections, statement_timeout_ms })
  try {
    await migrate(client)
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot make the tables')
  }
  const reads = translating((error) => storageErrorOf(error, 'cannot read'))
  const decisions = reads(decisionReader(client, many_postings))
  const outbox = reads(outboxReader(client))
  return {
    driver: 'postgres',
    decisions,
    edges: reads(edgeReader(client)),
    embeddings: reads(embeddingReader(client)),
    feed: reads(feedReader(client)),
    sessions: reads(sessionReader(client)),
    breakers: reads(breakerReader(client)),
    logins: reads(loginReader(client)),
    audit: reads(auditReader(client)),
    outbox,
    transaction: (work) =>
      transact(client, (connection, verb) =>
        work({
          decisions: decisionWriter(connection, verb, analyse),
          embeddings: embeddingWriter(connection, verb),
          sessions: sessionWriter(connection, verb),
          breakers: breakerWriter(connection, verb),
          logins: loginWriter(connection, verb),
          audit: auditWriter(connection, verb),
          outbox: outboxWriter(connection, verb),
          idempotency: idempotency(connection, verb, now),
        }),
      ),
    status: async () => ({ decisions: await decisions.count({}), outbox: await outbox.depth(), findings: [] }),
    reconcile: async () => [],
    lease: leaser(client),
    ping: async () => void (await client.read('select 1')),
    close: () => client.close(),
  }
}
