/** Statements and transactions on a pool of connections to PostgreSQL. Every wait is bounded. */

import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { within } from '../within.ts'
import { isLost, isLostAtOnce, storageErrorOf } from './errors.ts'
import { openPool, type Pool, type PoolOptions, type Query, type Session } from './pool.ts'

export { isLost, isRetryable, storageErrorOf } from './errors.ts'
export type { Query } from './pool.ts'

export interface Client {
  /** Runs a statement on any connection. For reads only: if the connection is lost, the statement is sent again. */
  read: Query
  /**
   * Runs `work` on one connection; commits when it resolves, and rolls back if it throws. `work` runs again only if BEGIN failed.
   * @param first statements to send with BEGIN
   * @throws StorageError marked `outcomeUnknown` if it is unknown whether the commit was done
   */
  begin<T>(work: (query: Query) => Promise<T>, first?: string): Promise<T>
  /** Like `begin`, for statements that may take hours: the client waits as long as the database answers pings. */
  beginWithoutTimeout<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** Resolves when the database answers this, even if all connections are busy. @throws if it doesn't within a few seconds */
  ping(sql?: string): Promise<void>
  close(): Promise<void>
}

export interface ClientOptions {
  /**
   * `postgres://user:password@host:port/database`; `?schema=` names the schema, by default `public`; `connections=` and
   * `statement_timeout_ms=` take precedence over the options of these names.
   */
  url: string
  /** Maximum number of connections. */
  connections: number
  /** How long the server works on a statement. If no answer comes within this time plus `grace_ms`, the database counts as unavailable. */
  statement_timeout_ms: number
  /** Whether a missing schema is created. [true] */
  make?: boolean
  /** Further settings of each session. */
  settings?: Record<string, string>
  /** How long the server's own timeout may take to arrive. [3 000] */
  grace_ms?: number
  /** How long a statement waits for a free connection. [10 000] */
  wait_ms?: number
}

/** Seconds until an attempt to connect is abandoned. */
const connectSeconds = 5
const pingSeconds = 2
/** How often a connection may be lost before the database counts as unavailable. */
const maxLost = 4
const drain_ms = 5_000
/** Locks the whole database, until the transaction ends, while a schema or its tables are created. The schema may not exist yet. */
export const namespaceLock = `select pg_advisory_xact_lock(${0x6373746e}, 0)`
/** The server drops a connection to a dead client after about two minutes instead of hours. */
const keepalive = { tcp_keepalives_idle: '60', tcp_keepalives_interval: '10', tcp_keepalives_count: '6' }

/** Statements assume this isolation, whatever the default of the database, the role or a pooler is. */
const isolation = 'read committed'
const begun = `begin isolation level ${isolation}`

/** Options that can be set in the address, with their bounds. */
const bounds = { connections: [1, 1_000], statement_timeout_ms: [100, 3_600_000] } as const
type Limits = Pick<ClientOptions, keyof typeof bounds>

/** Separates the parameters that only this program reads from an address. @throws StorageError `invalid` */
function addressOf(given: string): { url: string; schema: string; limits: Partial<Limits> } {
  // The parser's message would quote the address with its password.
  if (!URL.canParse(given)) throw new StorageError('invalid', 'the address of the PostgreSQL database is not a URL')
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

/** Repeats work that failed because its connection was lost, as after a restart of the database. */
async function retrying<T>(run: () => Promise<T>, may: () => boolean = () => true): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isLostAtOnce(error) || !may() || attempt === maxLost) throw error
    }
    await Bun.sleep(attempt * 10)
  }
}

/** @throws StorageError marked `outcomeUnknown` if it is unknown whether the commit was done */
async function commit({ query }: Session): Promise<void> {
  let command: string | undefined
  try {
    command = ((await query('commit')) as { command?: string }).command
  } catch (cause) {
    if (!isLost(cause) && !isStorageError(cause)) throw cause
    const message = `postgres: connection lost while committing: ${messageOf(cause)}`
    throw new StorageError('unavailable', message, { cause, outcomeUnknown: true })
  }
  // After a failed statement the server answers COMMIT with ROLLBACK.
  if (command !== 'COMMIT') throw new StorageError('unavailable', 'postgres: the transaction was rolled back')
}

/** Runs the rest of a transaction that has begun. A connection that does not confirm the rollback is closed, which ends the transaction. */
async function transaction<T>(session: Session, work: (query: Query) => Promise<T>): Promise<T> {
  let isOpen = true
  const query: Query = async (...statement) => {
    if (!isOpen) throw new StorageError('invalid', 'the transaction is over')
    return session.query(...statement)
  }
  try {
    const result = await work(query)
    isOpen = false
    await commit(session)
    return result
  } catch (error) {
    isOpen = false
    // After a failed commit no transaction is open: the server answers this with a warning.
    await session.query('rollback').catch(session.end)
    throw error
  }
}

/** What is wrong with a pooler that gives a session to several clients in turn: there are no settings and no statements of a session. */
const pooled = (what: string) =>
  new StorageError(
    'invalid',
    `postgres: ${what}, as behind a pooler in transaction mode: connect directly, or in session mode as the guide of scaling describes (docs/guide/scaling.md)`,
  )

const isOfPooler = (error: unknown): boolean =>
  error instanceof Error && /unsupported startup parameter|statement pooling mode/.test(error.message)

/** A connection of the database by its process, or null if it does not answer at once. */
const backend = async ({ query }: Session): Promise<number | null> => {
  const asked = query<{ pid: number }>('select pg_backend_pid() as pid').then(([row]) => row!.pid)
  return within(asked, pingSeconds * 500, null)
}

/** @throws StorageError `invalid` if there is no session: its settings do not arrive, or another client's transaction takes its connection */
async function refusePooled(pool: Pool, another: PoolOptions, schema: string): Promise<void> {
  const others = openPool(another)
  const settings = `select current_setting('search_path') as path, current_setting('default_transaction_isolation') as isolation`
  const look = (mine: Session) =>
    others.use(async (other) => {
      const [seen] = await mine.query<{ path: string; isolation: string }>(settings)
      if (seen?.path.replaceAll('"', '') !== schema || seen.isolation !== isolation)
        throw pooled('the settings of a session do not reach the database')
      const own = await backend(mine)
      await other.query('begin')
      try {
        await backend(other)
        if ((await backend(mine)) !== own) throw pooled('a session does not keep its connection')
      } finally {
        await other.query('rollback')
      }
    })
  try {
    await retrying(() => pool.use(look))
  } catch (error) {
    throw isOfPooler(error) ? pooled('a pooler refuses the settings or the transactions of a session') : error
  } finally {
    await others.close(0)
  }
}

/** Opens the pool and creates a missing schema. @throws StorageError `unavailable` */
export async function connect(options: ClientOptions): Promise<Client> {
  const { url, schema, limits } = addressOf(options.url)
  const { make = true, settings, grace_ms = 3_000, wait_ms = 10_000 } = options
  const { connections, statement_timeout_ms } = { ...options, ...limits }
  const path = `"${schema}"`
  const limit_ms = statement_timeout_ms + grace_ms
  const session = {
    application_name: 'cstp',
    default_transaction_isolation: isolation,
    // No other schema: a missing table must not be found elsewhere, not even in `public`.
    search_path: path,
    statement_timeout: String(statement_timeout_ms),
    // Compiling one of these statements takes longer than running it.
    jit: 'off',
    // A session whose client is dead must not keep its locks.
    idle_in_transaction_session_timeout: String(limit_ms),
    ...keepalive,
    ...settings,
  }
  const common = { url, settings: session }
  const pool = openPool({ ...common, max: connections, connect_s: connectSeconds, limit_ms, wait_ms })
  const pingLimit_ms = pingSeconds * 1_000
  const single = { ...common, max: 1, connect_s: pingSeconds, limit_ms: pingLimit_ms, wait_ms: 2 * pingLimit_ms }
  const pings = openPool(single)
  const ping = (sql = 'select 1') =>
    pings.use(async ({ query }) => {
      await query(sql)
    })

  /** Only a failed BEGIN is repeated. */
  function begin<T>(work: (session: Session) => Promise<T>, first?: string): Promise<T> {
    let hasBegun = false
    const run = () =>
      pool.use(async (session) => {
        await session.query(first === undefined ? begun : `${begun}; ${first}`)
        hasBegun = true
        return work(session)
      })
    return retrying(run, () => !hasBegun)
  }

  const client: Client = {
    read: (...statement) => retrying(() => pool.use(({ query }) => query(...statement))),
    begin: (work, first) => begin((session) => transaction(session, work), first),
    beginWithoutTimeout: (work) =>
      begin(
        (session) =>
          session.waitWhile(
            () => ping(),
            () => transaction(session, work),
          ),
        'set local statement_timeout = 0',
      ),
    ping: (sql) => retrying(() => ping(sql)),
    async close() {
      await Promise.all([pool.close(drain_ms), pings.close(0)])
    },
  }
  try {
    await refusePooled(pool, { ...single, connect_s: connectSeconds, wait_ms: 1_000 * connectSeconds }, schema)
    const [found] = await client.read('select 1 from pg_namespace where nspname = $1', [schema])
    if (!found && make)
      await client.begin(async (query) => {
        // Without the lock, one of two concurrent `if not exists` would fail.
        await query(namespaceLock)
        await query(`create schema if not exists "${schema}"`)
      })
    return client
  } catch (error) {
    await client.close()
    throw storageErrorOf(error, 'cannot connect')
  }
}
