/** The pool of connections to PostgreSQL, and what its errors mean. */
import { SQL } from 'bun'
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'

/** Runs a statement with parameters `$1 …`; rows as plain objects. The pool, or one connection inside a transaction. */
export type Query = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>

export interface Client {
  /** Any connection. A statement that a lost connection broke off is sent again: reads only. */
  read: Query
  /** All of `work` on one connection, committed when it resolves and rolled back when it throws. */
  begin<T>(work: (query: Query) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface ClientOptions {
  /** `postgres://user:password@host:port/database`; `?schema=` names the schema, by default `public`. */
  url: string
  /** Connections at most. */
  connections: number
  statement_timeout_ms: number
  /** False for one that only looks: a schema that is missing stays missing. */
  make?: boolean
  /** Further settings of each connection. */
  settings?: Record<string, string>
}

/** Seconds until a connection that can't be made is given up. */
const connectSeconds = 5
/** How often a connection may be lost before the database counts as away. */
const lostAttempts = 4

/** The address without what only this program reads. @throws StorageError `invalid` for a name that needs quotes */
function addressOf(given: string): { url: string; schema: string } {
  const url = new URL(given)
  const schema = url.searchParams.get('schema') ?? 'public'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new StorageError('invalid', 'the schema of a PostgreSQL address is lower-case letters, digits and _')
  url.searchParams.delete('schema')
  return { url: url.toString(), schema }
}

/** Class and code of a PostgreSQL error; the code of the client where the server said nothing. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  return typeof errno === 'string' ? errno : typeof code === 'string' ? code : ''
}

/** The connection is gone, or was never there. */
export const isLost = (error: unknown): boolean => isLostCode(codeOf(error))
const isLostCode = (code: string): boolean => /^(?:08|57P0|ERR_POSTGRES_CONNECTION|ECONN|EPIPE)/.test(code)
/** The transaction lost against another one and may simply run again. */
export const isRetryable = (error: unknown): boolean => /^(?:40001|40P01)$/.test(codeOf(error))

/** A storage error for anything thrown; `what` says what was being done. Neither holds the address, which has a password in it. */
export function storageErrorOf(error: unknown, what: string): StorageError {
  if (isStorageError(error)) return error
  const code = codeOf(error)
  const kind =
    isLostCode(code) || /^(?:40|53|55|57|58|25006|28|3D|ERR_POSTGRES)/.test(code)
      ? 'unavailable'
      : /^XX00[12]$/.test(code) || error instanceof SyntaxError
        ? 'corrupt'
        : 'invalid'
  const message = error instanceof Error ? error.message : String(error)
  return new StorageError(kind, `postgres: ${what}: ${message} (${code})`, { cause: error })
}

/** A database that has restarted leaves a pool full of dead connections: each is found out by whoever is given it. */
async function persistent<T>(run: () => Promise<T>, may: () => boolean = () => true): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isLost(error) || !may() || attempt === lostAttempts) throw error
    }
    await Bun.sleep(attempt * 10)
  }
}

/** Opens the pool and makes the schema where it is missing. @throws StorageError `unavailable` */
export async function connect({
  url: given,
  connections,
  statement_timeout_ms,
  make = true,
  settings,
}: ClientOptions): Promise<Client> {
  const { url, schema } = addressOf(given)
  const sql = new SQL({
    url,
    max: connections,
    connectionTimeout: connectSeconds,
    connection: {
      application_name: 'cstp',
      search_path: `${schema}, public`,
      statement_timeout: String(statement_timeout_ms),
      // It takes longer to compile a statement of ours than to run it.
      jit: 'off',
      ...settings,
    },
  })
  const query: Query = (text, values = []) => sql.unsafe(text, values as unknown[])
  const client: Client = {
    read: (text, values) => persistent(() => query(text, values)),
    begin(work) {
      let begun = false
      return persistent(
        () =>
          sql.begin((tx) => {
            begun = true
            return work((text, values = []) => tx.unsafe(text, values as unknown[]))
          }),
        () => !begun,
      )
    },
    close: () => sql.close({ timeout: connectSeconds }),
  }
  try {
    const [found] = await client.read('select 1 from pg_namespace where nspname = $1', [schema])
    if (!found && make) await query(`create schema if not exists ${schema}`)
    return client
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot connect')
  }
}
