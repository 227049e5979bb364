/** The connections to PostgreSQL: statements and transactions on a pool of them, each with an end in sight. */

import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { type Connection, isLost, isLostAtOnce, openConnection, type Query, storageErrorOf } from './connection.ts'
import { openPool } from './pool.ts'

export type { Query } from './connection.ts'
export { isLost, isRetryable, storageErrorOf } from './connection.ts'

export interface Client {
  /** Any connection. A statement that a lost connection broke off is sent again: reads only. */
  read: Query
  /** All of `work` on one connection, committed when it resolves and rolled back when it throws. */
  begin<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** The same for statements that may take hours: they are waited for as long as the database answers others. */
  beginWithoutTimeout<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** Resolves when the database answers, however busy the connections are. @throws when it doesn't within some seconds */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface ClientOptions {
  /**
   * `postgres://user:password@host:port/database`; `?schema=` names the schema, by default `public`; `connections=` and
   * `statement_timeout_ms=` stand above the options of these names.
   */
  url: string
  /** Connections at most. */
  connections: number
  /** How long the server works on a statement. Whoever waits longer than that and some seconds hears that the database is away. */
  statement_timeout_ms: number
  /** False for one that only looks: a schema that is missing stays missing. */
  make?: boolean
  /** Further settings of each connection. */
  settings?: Record<string, string>
  /** How long the server's own limit may take to arrive. */
  grace_ms?: number
  /** How long a statement waits for a free connection. */
  wait_ms?: number
}

/** Seconds until a connection that can't be made is given up. */
const connectSeconds = 5
const pingSeconds = 2
/** How often a connection may be lost before the database counts as away. */
const lostAttempts = 4
const mostWaiting = 2_000
const drainMs = 5_000
/** Held while a schema or its tables are created, until the transaction ends. Of the whole database: a schema comes before its tables. */
export const namespaceLock = `select pg_advisory_xact_lock(${0x6373746e}, 0)`
/** How long the server keeps a connection whose other end is gone: some two minutes instead of hours. */
const keepalive = { tcp_keepalives_idle: '60', tcp_keepalives_interval: '10', tcp_keepalives_count: '6' }

/** What an address may say of this program's own, and in what bounds. */
const bounds = { connections: [1, 1_000], statement_timeout_ms: [100, 3_600_000] } as const
type Limits = Pick<ClientOptions, keyof typeof bounds>

/** The address without what only this program reads. @throws StorageError `invalid` for what it can't be */
function addressOf(given: string): { url: string; schema: string; limits: Partial<Limits> } {
  const url = new URL(given)
  const taken = (name: string): string | null => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  }
  const schema = taken('schema') ?? 'public'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new StorageError('invalid', 'the schema of a PostgreSQL address is lower-case letters, digits and _')
  const limits: Partial<Limits> = {}
  for (const name of Object.keys(bounds) as (keyof Limits)[]) {
    const text = taken(name)
    if (text === null) continue
    const [least, most] = bounds[name]
    if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most)
      throw new StorageError('invalid', `${name} of a PostgreSQL address is a whole number from ${least} to ${most}`)
    limits[name] = Number(text)
  }
  return { url: url.toString(), schema, limits }
}

/** A database that has restarted leaves dead connections: what one of them broke off runs again. */
async function persistent<T>(run: () => Promise<T>, may: () => boolean = () => true): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isLostAtOnce(error) || !may() || attempt === lostAttempts) throw error
    }
    await Bun.sleep(attempt * 10)
  }
}

/** @throws StorageError that says so where nobody can tell whether it was done */
async function commit({ query }: Connection): Promise<{ command?: string }> {
  try {
    return (await query('commit')) as { command?: string }
  } catch (cause) {
    if (!isLost(cause) && !isStorageError(cause)) throw cause
    const why = messageOf(cause)
    throw new StorageError('unavailable', `postgres: lost while committing: ${why}`, { cause, unclear: true })
  }
}

/** One transaction. A connection that does not say that it is over is given up, and with it whatever is still open. */
async function transaction<T>(connection: Connection, work: (query: Query) => Promise<T>): Promise<T> {
  let open = true
  const query: Query = async (text, values) => {
    if (!open) throw new StorageError('invalid', 'the transaction is over')
    return connection.query(text, values)
  }
  try {
    const result = await work(query)
    open = false
    const { command } = await commit(connection)
    // The server's way to say that a statement had failed.
    if (command !== 'COMMIT') throw new StorageError('unavailable', 'postgres: the transaction was rolled back')
    return result
  } catch (error) {
    open = false
    // After a commit that failed nothing is open, and the server only says so.
    if (connection.alive) await connection.query('rollback').catch(connection.end)
    throw error
  }
}

/** Opens the pool and makes the schema where it is missing. @throws StorageError `unavailable` */
export async function connect(options: ClientOptions): Promise<Client> {
  const { url, schema, limits } = addressOf(options.url)
  const { make = true, settings, grace_ms = 3_000, wait_ms = 10_000 } = options
  const { connections, statement_timeout_ms } = { ...options, ...limits }
  const limit_ms = statement_timeout_ms + grace_ms
  const session = {
    application_name: 'cstp',
    // Only this one: a table that it lacks must not be found in another schema, not even in `public`.
    search_path: schema,
    statement_timeout: String(statement_timeout_ms),
    // It takes longer to compile a statement of ours than to run it.
    jit: 'off',
    // One whose program is gone must not hold its locks.
    idle_in_transaction_session_timeout: String(limit_ms),
    ...keepalive,
    ...settings,
  }
  const open = () => openConnection({ url, settings: session, connect_s: connectSeconds, limit_ms })
  const pool = openPool({
    open,
    most: connections,
    wait_ms,
    most_waiting: mostWaiting,
    drain_ms: drainMs,
  })
  const onOne = <T>(work: (connection: Connection) => Promise<T>): Promise<T> =>
    pool.use(async (connection) => {
      try {
        return await work(connection)
      } finally {
        // What happened to this one has happened to those that lie idle.
        if (!connection.alive) pool.discardIdle()
      }
    })

  let spare: Promise<Connection> | null = null
  async function ping(): Promise<void> {
    spare ??= openConnection({ url, settings: session, connect_s: pingSeconds, limit_ms: pingSeconds * 1_000 })
    const asked = spare
    try {
      const connection = await asked
      await connection.query('select 1')
    } catch (error) {
      if (spare === asked) spare = null
      asked.then((connection) => connection.end()).catch(() => {})
      pool.discardIdle()
      throw error
    }
  }

  /** On a connection that has begun a transaction. What has begun is not begun again. */
  function begun<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    let isBegun = false
    const run = async (connection: Connection) => {
      await connection.query('begin')
      isBegun = true
      return work(connection)
    }
    return persistent(
      () => onOne(run),
      () => !isBegun,
    )
  }

  const client: Client = {
    read: (text, values) => persistent(() => onOne(({ query }) => query(text, values))),
    begin: (work) => begun((connection) => transaction(connection, work)),
    beginWithoutTimeout: (work) =>
      begun((connection) =>
        connection.waitWhile(ping, () =>
          transaction(connection, async (query) => {
            await query('set local statement_timeout = 0')
            return work(query)
          }),
        ),
      ),
    ping: () => persistent(ping),
    async close() {
      const last = await spare?.catch(() => null)
      await Promise.all([pool.close(), last?.end()])
    },
  }
  try {
    const [found] = await client.read('select 1 from pg_namespace where nspname = $1', [schema])
    if (!found && make)
      await client.begin(async (query) => {
        // `if not exists` looks before it makes: of two at once, one would fail.
        await query(namespaceLock)
        await query(`create schema if not exists ${schema}`)
      })
    return client
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot connect')
  }
}
