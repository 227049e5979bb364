/** The evidence log for many servers: tables in PostgreSQL that refuse to change or forget a record, and one chain over all servers. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Evidence, StoredCheckpoint } from '../../../sdk/storage/evidence.ts'
import { type ClientOptions, connect, storageErrorOf } from '../postgres/client.ts'
import { groupCommit } from './group.ts'
import { migrate } from './postgres/migrate.ts'
import { reads } from './postgres/read.ts'
import { transactions } from './postgres/write.ts'

export type PostgresEvidenceOptions = Pick<ClientOptions, 'url'> & Partial<ClientOptions>

/** The same for one who only looks. @returns null where there are no tables */
export async function openPostgresEvidenceReader(
  url: string,
): Promise<(Omit<Evidence, 'driver' | 'append' | 'saveCheckpoint' | 'close'> & { close(): Promise<void> }) | null> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 120_000, make: false })
  const [there] = await client.read<{ found: boolean }>(
    `select to_regclass(current_schema() || '.evidence_meta') is not null as found`,
  )
  if (there?.found) return { ...reads(client), close: () => client.close() }
  await client.close()
  return null
}

/**
 * Opens the log, making its tables where there are none.
 * @throws StorageError `unavailable` when the database can't be reached, `invalid` when a newer program made its tables
 */
export async function openPostgresEvidence({
  url,
  connections = 4,
  statement_timeout_ms = 30_000,
  ...limits
}: PostgresEvidenceOptions): Promise<Evidence> {
  const client = await connect({ ...limits, url, connections, statement_timeout_ms })
  try {
    await migrate(client)
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot make the tables of evidence')
  }
  const group = groupCommit(transactions(client))
  let closing: Promise<void> | undefined
  const close = async () => {
    await group.end()
    await client.close()
  }
  const guarded =
    <A extends unknown[], R>(what: string, verb: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (closing) throw new StorageError('unavailable', 'the evidence is closed')
      try {
        return await verb(...args)
      } catch (error) {
        throw storageErrorOf(error, what)
      }
    }
  const read = reads(client)
  return {
    driver: 'postgres',
    head: guarded('cannot read evidence', read.head),
    read: guarded('cannot read evidence', read.read),
    facts: guarded('cannot read evidence', read.facts),
    ofPullRequest: guarded('cannot read evidence', read.ofPullRequest),
    hashes: guarded('cannot read evidence', read.hashes),
    nodes: guarded('cannot read evidence', read.nodes),
    find: guarded('cannot read evidence', read.find),
    checkpoints: guarded('cannot read evidence', read.checkpoints),
    append: group.append,
    saveCheckpoint: guarded(
      'cannot keep a checkpoint',
      ({ size, head_hash, note, created_at, exported }: StoredCheckpoint) =>
        client.begin(async (query) => {
          await query(
            'insert into checkpoints (size, head_hash, note, created_at, exported) values ($1::bigint, $2, $3, $4, $5::boolean)',
            [size, head_hash, note, created_at, exported],
          )
        }),
    ),
    close() {
      closing ??= close()
      return closing
    },
  }
}
