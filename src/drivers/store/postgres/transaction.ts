/**
 * One transaction of a group. Transactions of a group run side by side: their reads share round trips, and their writes are sent when all
 * have ended, in turn. A transaction that has read what an earlier one of the group writes is not committed with it: it runs again. What
 * can't be done side by side, such as reading its own writes, makes a transaction run again alone.
 */
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { storageErrorOf } from '../../shared/postgres/client.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { Writes } from './writes.ts'

type Write = (writes: Writes) => void

/** What the methods of a transaction work with. Keys name what is read and written, as {@link keyOf} makes them. */
export interface Access {
  /** Runs a read, which sees the earlier writes of this transaction. */
  read<T>(keys: readonly string[], run: (db: Database) => PromiseLike<T>): Promise<T>
  /** Like `read`, once for all transactions of the group that read the same: `name` says what. Callers don't change the result. */
  readShared<T>(name: string, keys: readonly string[], run: (db: Database) => PromiseLike<T>): Promise<T>
  /** Writes at the end, in order. */
  write(keys: readonly string[], write: Write): void
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
  /** The acts about a decision or a keyed record. */
  act: (decision_id: string) => `act ${decision_id}`,
  generations: 'generations',
}

export interface OpenTransaction {
  access: Access
  /** Ends it. Resolves with what it writes, or says how it has to run again. */
  end():
    | 'alone'
    | { reads: ReadonlySet<string>; written: ReadonlySet<string>; changed: ReadonlySet<string>; writes: Write[] }
}

/** What the transactions of a group share. */
export interface Group {
  db: Database
  writes: Writes
  reads: Map<string, Promise<unknown>>
}

/** @param isAlone whether it is the only one of its group: it can then send its writes before it reads */
export function openTransaction(group: Group, isAlone: boolean): OpenTransaction {
  let isOpen = true
  let needsAlone = false
  const writes: Write[] = []
  const [reads, written, changed] = [new Set<string>(), new Set<string>(), new Set<string>()]

  function requireAlone(): void {
    if (isAlone) return
    needsAlone = true
    throw new StorageError('unavailable', 'the transaction runs again, alone')
  }
  async function flush(): Promise<void> {
    for (const write of writes.splice(0)) write(group.writes)
    if (changed.size > 0) group.writes.numberChanges([...changed])
    await group.writes.flush()
  }
  const access: Access = {
    async read(keys, run) {
      for (const key of keys) reads.add(key)
      if (keys.some((key) => written.has(key))) requireAlone()
      if (writes.length > 0 && isAlone) await flush()
      return run(group.db)
    },
    readShared<T>(name: string, keys: readonly string[], run: (db: Database) => PromiseLike<T>): Promise<T> {
      const once = async (db: Database) => run(db)
      if (isAlone) return access.read(keys, once)
      return access.read(keys, (db) => group.reads.getOrInsertComputed(name, () => once(db)) as Promise<T>)
    },
    write(keys, write) {
      for (const key of keys) written.add(key)
      writes.push(write)
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
      return needsAlone ? 'alone' : { reads, written, changed, writes }
    },
  }
}
