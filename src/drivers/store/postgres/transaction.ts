/**
 * Transactions. Serial without false alarms: before a verb looks at something by its key it locks the key until the commit, so what it
 * read stays true. Two that wait for each other are told apart by the engine, and one runs again.
 */
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { type Client, isLost, isRetryable, type Query, storageErrorOf } from '../../shared/postgres/client.ts'
import { toText } from '../../shared/postgres/filter.ts'
import { announceChanges, numberChanges } from './feed.ts'
import { type LockKind, nameLock } from './locks.ts'

export interface Connection {
  query: Query
  /** Waits until nobody else holds any of the keys. Asked for again it costs nothing. */
  lock(kind: LockKind, keys: string | readonly string[], mode?: 'shared' | 'exclusive'): Promise<void>
  /** The decision changes: it gets the next number of the feed at the commit. */
  touch(id: string): void
}

export type Verb = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => (...args: A) => Promise<R>

const attempts = 20
const cutAttempts = 3

/** Runs `work` and commits; again where the engine asks for it. @throws StorageError, and whatever `work` throws */
export async function transact<T>(
  client: Client,
  work: (connection: Connection, verb: Verb) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const state: { open: boolean; broken: unknown } = { open: true, broken: undefined }
    try {
      return await client.begin((query) => runOnce(query, state, work), announceChanges)
    } catch (error) {
      const cause = state.broken ?? error
      // A verb that failed for its connection came before the commit: nothing of the transaction was kept.
      const isCut = state.broken !== undefined && isLost(cause) && attempt < cutAttempts
      if (isCut || (isRetryable(cause) && attempt < attempts)) {
        await Bun.sleep(Math.random() * 2 ** Math.min(attempt, 6))
        continue
      }
      if (state.broken !== undefined) throw storageErrorOf(state.broken, 'cannot write')
      // What `work` threw is the caller's; what the engine threw at the commit is ours.
      throw 'query' in Object(error) || !isFromEngine(error) ? error : storageErrorOf(error, 'cannot commit')
    } finally {
      state.open = false
    }
  }
}

const isFromEngine = (error: unknown): boolean =>
  !isStorageError(error) && error instanceof Error && /^(?:Postgres|SQL)/.test(error.constructor.name)

async function runOnce<T>(
  query: Query,
  state: { open: boolean; broken: unknown },
  work: (connection: Connection, verb: Verb) => Promise<T>,
): Promise<T> {
  const held = new Map<string, 'shared' | 'exclusive'>()
  const touched = new Set<string>()
  const connection: Connection = {
    query,
    async lock(kind, keys, mode = 'exclusive') {
      const names = (typeof keys === 'string' ? [keys] : keys).map((key) => `${kind} ${toText(key)}`)
      const wanted = names.filter((name) => held.get(name) !== 'exclusive' && held.get(name) !== mode).sort()
      if (wanted.length === 0) return
      for (const name of wanted) held.set(name, mode)
      await query(nameLock[mode], [wanted])
    },
    touch: (id) => void touched.add(id),
  }
  const verb: Verb =
    (run) =>
    async (...args) => {
      if (!state.open) throw new StorageError('invalid', 'the transaction is over')
      if (state.broken !== undefined) throw storageErrorOf(state.broken, 'the transaction has failed')
      try {
        return await run(...args)
      } catch (error) {
        // Refusals come before anything is written: `work` may catch them and go on.
        if (isStorageError(error)) throw error
        state.broken = error
        throw storageErrorOf(error, 'cannot write')
      }
    }
  const result = await work(connection, verb)
  state.open = false
  if (state.broken !== undefined) throw state.broken
  if (touched.size > 0) {
    await numberChanges(query, [...touched], 0)
  }
  return result
}
