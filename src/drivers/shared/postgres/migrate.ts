/** Migrates the tables of a schema to this program, under a lock, and refuses those of a newer program. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { newerFormat } from '../../../core/format.ts'
import { type Client, namespaceLock, type Query } from './client.ts'

/** Each group has its own migrations: store and evidence may share a schema, or be in two databases. */
type TableGroup = 'store' | 'evidence'

/** The number of the last migration applied to a group; null if it has no tables. */
export async function versionOf(query: Query, group: TableGroup): Promise<number | null> {
  const [there] = await query<{ found: boolean }>(`select to_regclass('cstp_schema') is not null as found`)
  if (!there!.found) return null
  const [row] = await query<{ version: number }>('select version from cstp_schema where tables = $1', [group])
  return row?.version ?? null
}

/** @throws StorageError `invalid` if the tables are newer than the program */
export async function migrate(client: Client, group: TableGroup, migrations: readonly string[]): Promise<void> {
  const known = migrations.length
  await client.beginWithoutTimeout(async (query) => {
    await query(namespaceLock)
    await query('create table if not exists cstp_schema (tables text primary key, version integer not null)')
    const version = (await versionOf(query, group)) ?? 0
    if (version > known)
      throw new StorageError('invalid', newerFormat(`the format of the tables of the ${group}`, version, known))
    if (version === known) return
    for (const statements of migrations.slice(version)) await query(statements)
    await query(
      'insert into cstp_schema (tables, version) values ($1, $2::int) on conflict (tables) do update set version = excluded.version',
      [group, known],
    )
  })
}
