/** One connection to PostgreSQL, closed if an answer takes too long: a network may drop packets without an error. */

import { SQL } from 'bun'
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'
import { hideAll, secretsIn } from '../../../core/redact.ts'

/** Runs a statement with parameters `$1 …`, on the pool or on one connection inside a transaction. Rows are plain objects. */
export type Query = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>

export interface Connection {
  query: Query
  /** False once the connection is lost or closed, for good. */
  readonly alive: boolean
  /** Waits for `work` without a limit, as long as `isThere` resolves. */
  waitWhile<T>(isThere: () => Promise<void>, work: () => Promise<T>): Promise<T>
  /** Closes the connection and interrupts its statements. */
  end(): Promise<void>
}

interface ConnectionOptions {
  url: string
  settings: Record<string, string>
  /** Seconds until the attempt to connect is abandoned. */
  connect_s: number
  /** How long an answer may take. */
  limit_ms: number
}

/** @throws Bun's error if the server can't be reached or refuses */
export async function openConnection({ url, settings, connect_s, limit_ms }: ConnectionOptions): Promise<Connection> {
  let alive = true
  const sql = new SQL({
    url,
    max: 1,
    connectionTimeout: connect_s,
    connection: settings,
    onclose: () => {
      alive = false
    },
  })
  const end = () => {
    alive = false
    return sql.close({ timeout: 0 })
  }
  // Reserved permanently: otherwise the client would reconnect in the middle of a transaction and continue outside of it.
  const session = await sql.reserve().catch(async (error: unknown) => {
    await end()
    // The database's message may quote a setting of the address with its value.
    if (error instanceof Error) error.message = hideAll(secretsIn(url))(error.message)
    throw error
  })

  let waiting = 0
  let isThere: (() => Promise<void>) | undefined
  let silent: StorageError | undefined
  let timer: Timer | undefined
  const giveUp = () => {
    silent = new StorageError('unavailable', `postgres: the database did not respond within ${limit_ms / 1_000} s`)
    // Rejects all waiting statements.
    end().catch(() => {})
  }
  // Statements of one connection are answered in order, so each answer restarts the timer for the next.
  const watch = () => {
    clearTimeout(timer)
    timer = waiting > 0 ? setTimeout(overdue, limit_ms) : undefined
  }
  const overdue = () => {
    if (isThere === undefined) giveUp()
    else isThere().then(watch, giveUp)
  }

  return {
    get alive() {
      return alive
    },
    async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      if (silent !== undefined) throw silent
      if (waiting++ === 0) watch()
      try {
        return await session.unsafe(text, values as unknown[])
      } catch (error) {
        throw silent ?? error
      } finally {
        waiting--
        watch()
      }
    },
    async waitWhile(probe, work) {
      isThere = probe
      try {
        return await work()
      } finally {
        isThere = undefined
      }
    },
    end,
  }
}

// Classification of errors of PostgreSQL and of the network.

/** SQLSTATE of a PostgreSQL error, or the client's code if the server did not answer. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  return typeof errno === 'string' ? errno : typeof code === 'string' ? code : ''
}

const isLostCode = (code: string): boolean => /^(?:08|57P0|25P03|ERR_POSTGRES_CONNECTION|ECONN|EPIPE)/.test(code)
/** Whether the connection is lost or was never established. */
export const isLost = (error: unknown): boolean => isLostCode(codeOf(error))
/** Whether the connection is lost and a retry makes sense, which it does not after a timeout of the network. */
export const isLostAtOnce = (error: unknown): boolean =>
  isLost(error) && codeOf(error) !== 'ERR_POSTGRES_CONNECTION_TIMEOUT'
/** Whether the transaction lost a conflict with another one and can run again. */
export const isRetryable = (error: unknown): boolean => /^(?:40001|40P01)$/.test(codeOf(error))

/** Converts anything thrown to a storage error; `what` describes the operation. Neither contains the address, which has a password. */
export function storageErrorOf(error: unknown, what: string): StorageError {
  if (isStorageError(error)) return error
  const code = codeOf(error)
  const kind =
    isLostCode(code) || /^(?:40|53|55|57|58|25006|28|3D|ERR_POSTGRES)/.test(code)
      ? 'unavailable'
      : /^XX00[12]$/.test(code) || error instanceof SyntaxError
        ? 'corrupt'
        : 'invalid'
  const message = messageOf(error)
  return new StorageError(kind, `postgres: ${what}: ${message} (${code})`, { cause: error })
}
