/** Finds the extension pgvector in a database, and installs it where it is missing. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { connect } from '../../postgres/client.ts'
import { lockOf } from './table.ts'

/**
 * The schema in which the extension lies: a database has one of it, whichever of its schemas asks. Where there is none it is made, in a
 * schema that is not ours where that may be, so that ours can go without it.
 * @throws StorageError `unavailable` when the database can't be reached or has no pgvector
 */
export async function extensionSchema(url: string): Promise<string> {
  const client = await connect({ url, connections: 1, statement_timeout_ms: 30_000 })
  try {
    return await client.begin(async (query) => {
      await query(lockOf('tables'))
      const [open] = await query(
        "select from pg_namespace where nspname = 'public' and has_schema_privilege(oid, 'create')",
      )
      await query(`create extension if not exists vector ${open ? 'schema public' : ''}`)
      const [found] = await query<{ name: string }>(
        "select nspname as name from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'",
      )
      return found!.name
    })
  } catch (error) {
    const message = 'pgvector can not be used in this database: is the extension vector installed?'
    throw new StorageError('unavailable', message, { cause: error })
  } finally {
    await client.close()
  }
}
