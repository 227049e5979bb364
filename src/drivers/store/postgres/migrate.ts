/** Brings a database to the tables of this program, under a lock, and refuses one that a newer program has changed. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Client } from '../../shared/postgres/client.ts'
import { migrationLock } from './locks.ts'
import tables from './migrations/0000_tables.sql' with { type: 'text' }
import triggers from './migrations/0001_triggers.sql' with { type: 'text' }

/** In the order of the folder; a test compares it with the folder. */
export const migrations: readonly string[] = [tables, triggers]

/** @throws StorageError `invalid` when the database is newer than the program */
export async function migrate(client: Client): Promise<void> {
  await client.beginPatiently(async (query) => {
    await query(migrationLock)
    await query('create table if not exists cstp_schema (version integer not null)')
    const [row] = await query<{ version: number }>('select version from cstp_schema')
    const version = row?.version ?? 0
    if (version > migrations.length) {
      const message = `the database has version ${version}; this program knows versions up to ${migrations.length}`
      throw new StorageError('invalid', `${message}: start the newer program`)
    }
    // One message each: what drizzle puts between the statements is a comment to the server.
    for (const file of migrations.slice(version)) await query(file)
    if (row === undefined) await query('insert into cstp_schema (version) values ($1)', [migrations.length])
    else if (version < migrations.length) await query('update cstp_schema set version = $1', [migrations.length])
  })
}
