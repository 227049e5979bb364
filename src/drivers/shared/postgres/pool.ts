/** A pool of connections, opened on demand and discarded once they are lost. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { Connection } from './connection.ts'

export interface Pool {
  /** @throws StorageError `unavailable` if no connection becomes free in time, and the errors of `open` and `work` */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Closes unused connections, after another one was lost. */
  discardIdle(): void
  /** Waits up to `drain_ms` for running work, then closes all connections. */
  close(): Promise<void>
}

interface PoolOptions {
  open(): Promise<Connection>
  /** Maximum number of connections. */
  max: number
  /** How long a caller waits for a free connection. */
  wait_ms: number
  /** Maximum number of waiting callers. */
  max_waiting: number
  /** How long running work may continue after {@link Pool.close}. */
  drain_ms: number
}

interface Waiter {
  /** Gets a connection, or null if a place is free and the caller has to open one. */
  take(connection: Connection | null): void
  refuse(error: StorageError): void
}

const closed = () => new StorageError('unavailable', 'postgres: the connections are closed')

export function openPool({ open, max, wait_ms, max_waiting, drain_ms }: PoolOptions): Pool {
  const idle: Connection[] = []
  const lent = new Set<Connection>()
  const queue = new Set<Waiter>()
  /** Places in use, including those of connections that are being opened. */
  let places = 0
  let isClosed = false
  let drained: (() => void) | undefined

  const discard = (connection: Connection) => {
    connection.end().catch(() => {})
  }

  /** Passes a free place to the caller that has waited longest. */
  function free(connection: Connection | null): void {
    const [next] = queue
    if (next !== undefined && !isClosed) {
      queue.delete(next)
      next.take(connection)
      return
    }
    if (connection !== null && !isClosed) {
      idle.push(connection)
      return
    }
    if (connection !== null) discard(connection)
    places--
    if (places === 0) drained?.()
  }

  const wait = () =>
    new Promise<Connection | null>((take, refuse) => {
      const timer = setTimeout(() => {
        queue.delete(waiter)
        refuse(new StorageError('unavailable', `postgres: no connection became free within ${wait_ms / 1_000} s`))
      }, wait_ms)
      const waiter: Waiter = {
        take(connection) {
          clearTimeout(timer)
          take(connection)
        },
        refuse(error) {
          clearTimeout(timer)
          refuse(error)
        },
      }
      queue.add(waiter)
    })

  async function take(): Promise<Connection> {
    if (isClosed) throw closed()
    let given: Connection | null = null
    while (idle.length > 0 && given === null) {
      const one = idle.pop()!
      if (one.alive) given = one
      else {
        discard(one)
        places--
      }
    }
    if (given === null) {
      if (places < max) places++
      else if (queue.size >= max_waiting)
        throw new StorageError('unavailable', `postgres: ${max_waiting} already wait for a connection`)
      else given = await wait()
    }
    if (given?.alive) return given
    if (given !== null) discard(given)
    try {
      return await open()
    } catch (error) {
      free(null)
      throw error
    }
  }

  return {
    async use(work) {
      const connection = await take()
      lent.add(connection)
      try {
        return await work(connection)
      } finally {
        lent.delete(connection)
        if (connection.alive) free(connection)
        else {
          discard(connection)
          free(null)
        }
      }
    },
    discardIdle() {
      const left = idle.splice(0)
      places -= left.length
      for (const one of left) discard(one)
    },
    async close() {
      isClosed = true
      for (const { refuse } of queue) refuse(closed())
      queue.clear()
      const ends = idle.splice(0).map((one) => one.end())
      places -= ends.length
      if (places > 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        drained = resolve
        const timer = setTimeout(resolve, drain_ms)
        await promise
        clearTimeout(timer)
        ends.push(...[...lent].map((one) => one.end()))
      }
      await Promise.all(ends)
    },
  }
}
