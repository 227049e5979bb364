/** The evidence log for many servers: tables in PostgreSQL that refuse to change or forget a record, and one chain over all servers. */

import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Evidence, StoredCheckpoint } from '../../../../sdk/storage/evidence.ts'
import { type Client, type ClientOptions, connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { groupCommit } from '../group.ts'
import { reads } from './read.ts'
import tables from './tables.sql' with { type: 'text' }
import { transactions } from './write.ts'

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

// Makes the tables of evidence where there are none, under a lock, and refuses a database that holds something else.

/** Version of the tables. */
const evidenceVersion = 1
/** The only formula of the hash that this program knows. */
const chainFormat = '3'

/** First half of the locks' keys; the second says what is locked. */
const space = 0x63737465

/** Of the log in this schema, until the transaction ends. */
export const appendLock = `select pg_advisory_xact_lock(${space}, hashtext(current_schema()))`
/** Apart from {@link appendLock}: a start need not wait for writers. Of the whole database, as schemas are made too. */
const tablesLock = `select pg_advisory_xact_lock(${space + 1}, 0)`

/** @throws StorageError `invalid` when the database is newer than the program, or its chain has another format */
export async function migrate(client: Client): Promise<void> {
  await client.beginPatiently(async (query) => {
    await query(tablesLock)
    await query('create table if not exists evidence_meta (key text primary key, value text not null)')
    const rows = await query<{ key: string; value: string }>('select key, value from evidence_meta')
    const meta = new Map(rows.map(({ key, value }) => [key, value]))
    const [version, format] = [Number(meta.get('version') ?? 0), meta.get('chain_format') ?? chainFormat]
    if (version > evidenceVersion || format !== chainFormat) {
      const message = `the evidence has version ${version} and chain format ${format}`
      throw new StorageError(
        'invalid',
        `${message}; this program knows version ${evidenceVersion} and format ${chainFormat}: start the newer program`,
      )
    }
    if (version === 0) {
      await query(tables)
      await query('insert into evidence_meta (key, value) values ($1, $2), ($3, $4)', [
        'version',
        String(evidenceVersion),
        'chain_format',
        chainFormat,
      ])
    }
  })
}
