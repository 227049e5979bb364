/**
 * One transaction of a group. Transactions of a group run side by side: their reads share round trips, and their writes are sent when all
 * have ended, in turn. A transaction that has read what an earlier one of the group writes is not committed with it: it runs again. What
 * can't be done side by side, such as reading its own writes, makes a transaction run again alone.
 */
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { storageErrorOf } from '../../shared/postgres/client.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { WriteStatements } from './statements.ts'

type Send = (statements: WriteStatements, db: Database) => Promise<unknown>

/** What the methods of a transaction work with. Keys name what is read and written, as {@link keyOf} makes them. */
export interface Access {
  /** Runs a read, which sees the earlier writes of this transaction. */
  read<T>(keys: readonly string[], run: (db: Database) => PromiseLike<T>): Promise<T>
  /** Sends a write at the end, in order. */
  write(keys: readonly string[], send: Send): void
  /** Whether this transaction writes what a key names. */
  writes(key: string): boolean
  /** Gives the latest change of a decision the next number. */
  changed(id: string): void
  /** For what must run while no other transaction of the group does. */
  requireAlone(): void
  /** Wraps a method: it works while the transaction is open, and throws only StorageErrors. */
  verb<A extends unknown[], R>(run: (...args: A) => R | Promise<R>): (...args: A) => Promise<R>
}

export const keyOf = {
  decision: (id: string) => `decision ${id}`,
  /** Any decision, for counts. */
  anyDecision: 'decision',
  erased: (id: string) => `erased ${id}`,
  source: (key: string) => `source ${key}`,
  /** Any source key, for decisions that may give one up. */
  anySource: 'source',
  keyed: (collection: string, key: string) => `keyed ${collection} ${key}`,
  generations: 'generations',
}

export interface OpenTransaction {
  access: Access
  /** Ends it. Resolves with what it writes, or says how it has to run again. */
  end():
    | 'alone'
    | { reads: ReadonlySet<string>; written: ReadonlySet<string>; changed: ReadonlySet<string>; sends: Send[] }
}

/** @param isAlone whether it is the only one of its group: it can then send its writes before it reads */
export function openTransaction(db: Database, statements: WriteStatements, isAlone: boolean): OpenTransaction {
  let isOpen = true
  let needsAlone = false
  const sends: Send[] = []
  const [reads, written, changed] = [new Set<string>(), new Set<string>(), new Set<string>()]

  function requireAlone(): void {
    if (isAlone) return
    needsAlone = true
    throw new StorageError('unavailable', 'the transaction runs again, alone')
  }
  async function flush(): Promise<void> {
    if (changed.size > 0) sends.push(() => statements.numberChanges([...changed]))
    await Promise.all(sends.splice(0).map((send) => send(statements, db)))
  }
  const access: Access = {
    async read(keys, run) {
      for (const key of keys) reads.add(key)
      if (keys.some((key) => written.has(key))) requireAlone()
      if (sends.length > 0 && isAlone) await flush()
      return run(db)
    },
    write(keys, send) {
      for (const key of keys) written.add(key)
      sends.push(send)
    },
    writes: (key) => written.has(key),
    changed: (id) => void changed.add(id),
    requireAlone,
    verb:
      (run) =>
      async (...args) => {
        if (!isOpen) throw new StorageError('invalid', 'the transaction is over')
        try {
          return await run(...args)
        } catch (error) {
          throw isStorageError(error) ? error : storageErrorOf(error, 'cannot write')
        }
      },
  }
  return {
    access,
    end() {
      isOpen = false
      return needsAlone ? 'alone' : { reads, written, changed, sends }
    },
  }
}
