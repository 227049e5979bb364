/** Makes the tables of evidence where there are none, under a lock, and refuses a database that holds something else. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Client } from '../../postgres/client.ts'
import tables from './tables.sql' with { type: 'text' }

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
