/** Bun's pool of connections, with a bound on every wait: a network may drop packets without an error. */
import { type ReservedSQL, SQL } from 'bun'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { hideAll, secretsIn } from '../../../core/secrets.ts'
import { within } from '../within.ts'

/** Runs a statement with parameters `$1 …`. Rows are plain objects, or arrays of their values. */
export type Query = <Row>(sql: string, values?: readonly unknown[], form?: 'objects' | 'arrays') => Promise<Row[]>

/** A connection that belongs to one caller. Bun never replaces it by another one: once it is lost, every statement on it fails. */
export interface Session {
  query: Query
  /** Waits for `work` without a limit, as long as `isThere` resolves. */
  waitWhile<T>(isThere: () => Promise<void>, work: () => Promise<T>): Promise<T>
  /** Closes the connection, which ends its transaction and rejects its statements. */
  end(): Promise<void>
}

export interface Pool {
  /** @throws StorageError `unavailable` if no connection becomes free in time, and the errors of connecting and of `work` */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Waits up to `drain_ms` for running work, then closes all connections. */
  close(drain_ms: number): Promise<void>
}

export interface PoolOptions {
  url: string
  settings: Record<string, string>
  /** Maximum number of connections. */
  max: number
  /** Seconds until the attempt to connect is abandoned. */
  connect_s: number
  /** How long an answer may take. */
  limit_ms: number
  /** How long a caller waits for a free connection. */
  wait_ms: number
}

/** Connections that are given up together, since the network lost one of them. */
interface Generation {
  sql: SQL
  running: Set<Promise<unknown>>
}

const unavailable = (why: string) => new StorageError('unavailable', `postgres: ${why}`)
const closed = () => unavailable('the connections are closed')

/** Watches the answers on a connection. Statements are answered in order, so each answer restarts the timer for the next. */
function openSession(reserved: ReservedSQL, limit_ms: number, onSilence: () => void): Session {
  let waiting = 0
  let isThere: (() => Promise<void>) | undefined
  let silence: StorageError | undefined
  let timer: Timer | undefined
  const end = async () => {
    await reserved.close({ timeout: 0 })
  }
  const giveUp = () => {
    silence = unavailable(`the database did not respond within ${limit_ms / 1_000} s`)
    onSilence()
    // Rejects all waiting statements.
    end().catch(() => {})
  }
  const watch = () => {
    clearTimeout(timer)
    timer = waiting > 0 ? setTimeout(overdue, limit_ms) : undefined
  }
  const overdue = () => {
    if (isThere === undefined) giveUp()
    else isThere().then(watch, giveUp)
  }
  return {
    async query<Row>(
      text: string,
      values: readonly unknown[] = [],
      form: 'objects' | 'arrays' = 'objects',
    ): Promise<Row[]> {
      if (silence !== undefined) throw silence
      if (waiting++ === 0) watch()
      try {
        const sent = reserved.unsafe(text, values as unknown[])
        return await (form === 'arrays' ? (sent.values() as unknown as Promise<Row[]>) : sent)
      } catch (error) {
        throw silence ?? error
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

export function openPool({ url, settings, max, connect_s, limit_ms, wait_ms }: PoolOptions): Pool {
  const create = (): Generation => ({
    sql: new SQL({ url, max, connectionTimeout: connect_s, connection: settings }),
    running: new Set(),
  })
  let current = create()
  let isClosed = false
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})

  /** Replaces all connections: the idle ones are probably lost too. Running work keeps its own until it ends. */
  function renew(lost: Generation): void {
    if (lost !== current || isClosed) return
    current = create()
    Promise.allSettled(lost.running).then(() => lost.sql.close({ timeout: 0 }))
  }

  async function reserve({ sql }: Generation): Promise<ReservedSQL> {
    const reserving = sql.reserve()
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(reject, wait_ms, unavailable(`no connection became free within ${wait_ms / 1_000} s`))
    })
    try {
      return await Promise.race([reserving, late, ended.promise])
    } catch (error) {
      reserving.then(
        (reserved) => reserved.release(),
        () => {},
      )
      // The database's message may quote a setting of the address with its value.
      if (error instanceof Error) error.message = hideAll(secretsIn(url))(error.message)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async function run<T>(generation: Generation, work: (session: Session) => Promise<T>): Promise<T> {
    const reserved = await reserve(generation)
    try {
      return await work(openSession(reserved, limit_ms, () => renew(generation)))
    } finally {
      reserved.release()
    }
  }

  return {
    async use(work) {
      if (isClosed) throw closed()
      const generation = current
      const running = run(generation, work)
      generation.running.add(running)
      try {
        return await Promise.race([running, ended.promise])
      } finally {
        generation.running.delete(running)
      }
    },
    async close(drain_ms) {
      isClosed = true
      await within(Promise.allSettled(current.running), drain_ms, undefined)
      ended.reject(closed())
      await current.sql.close({ timeout: 0 })
    },
  }
}
