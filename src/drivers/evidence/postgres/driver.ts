/** The evidence log for many servers: tables in PostgreSQL that refuse to change or forget a record, and one chain over all servers. */
import type { Evidence } from '../../../../sdk/storage/evidence.ts'
import { type Client, type ClientOptions, connect, storageErrorOf } from '../../shared/postgres/client.ts'
import { addCheckpoint } from '../../shared/postgres/ledger.ts'
import { migrate } from '../../shared/postgres/migrate.ts'
import { translating } from '../../shared/translating.ts'
import { groupCommit } from '../group.ts'
import { checkFormat, type EvidenceReads } from '../rows.ts'
import { transactions } from './append.ts'
import { migrations } from './migrate.ts'
import { reads } from './read.ts'

/** `connections` [4] and `statement_timeout_ms` [30 000] are optional; the other options are those of every client. */
export type PostgresEvidenceOptions = Pick<ClientOptions, 'url'> & Partial<ClientOptions>

const translatedReads = translating((error) => storageErrorOf(error, 'cannot read evidence'))

/**
 * Opens the log, and creates its tables if there are none.
 * @throws StorageError `unavailable` if the database can't be reached, `invalid` if a newer program has migrated its tables
 */
export async function openPostgresEvidence({
  url,
  connections = 4,
  statement_timeout_ms = 30_000,
  ...limits
}: PostgresEvidenceOptions): Promise<Evidence> {
  const client = await connect({ ...limits, url, connections, statement_timeout_ms })
  try {
    await migrate(client, 'evidence', migrations)
    checkFormat(await formatOf(client), 'the evidence')
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot create the evidence tables')
  }
  const group = groupCommit(transactions(client))
  let closing: Promise<void> | undefined
  const close = async () => {
    await group.end()
    await client.close()
  }
  return {
    driver: 'postgres',
    ...translatedReads(reads(client)),
    ...translating((error) => storageErrorOf(error, 'cannot save a checkpoint'))<Pick<Evidence, 'saveCheckpoint'>>({
      saveCheckpoint: (checkpoint) => client.begin((query) => addCheckpoint(query, '', checkpoint)),
    }),
    append: group.append,
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Opens the log for reading only, and creates nothing. @returns null if there are no tables */
export async function openPostgresEvidenceReader(
  url: string,
): Promise<(EvidenceReads & { close(): Promise<void> }) | null> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 120_000, make: false })
  const [there] = await client.read<{ found: boolean }>(`select to_regclass('evidence_meta') is not null as found`)
  if (there!.found) return { ...translatedReads(reads(client)), close: () => client.close() }
  await client.close()
  return null
}

async function formatOf({ read }: Client): Promise<string | undefined> {
  const [row] = await read<{ value: string }>(`select value from evidence_meta where key = 'chain_format'`)
  return row?.value
}
