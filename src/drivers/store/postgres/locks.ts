/** Names of the advisory locks, so that no two parts of the program share one. */

/** Seed of the hash of a lock's name, which is the lock's key. */
const space = 0x63737470

/** What a lock guards. */
export type LockKind = 'decision' | 'source' | 'counts' | 'generations' | 'keyed' | 'retention'

const hashed = (name: string): string => `hashtextextended(${name}, ${space})`
/** Waits for the locks with these names, in the given order, and holds them until the transaction ends. */
export const lockNames = `select case when alone then pg_advisory_xact_lock(${hashed('name')}) else pg_advisory_xact_lock_shared(${hashed('name')}) end
  from unnest($1::text[], $2::bool[]) as wanted (name, alone)`
/** The names whose locks another transaction holds; all others are locked until the transaction ends. */
export const namesHeld = `select name from unnest($1::text[], $2::bool[]) as wanted (name, alone)
  where not case when alone then pg_try_advisory_xact_lock(${hashed('name')}) else pg_try_advisory_xact_lock_shared(${hashed('name')}) end`
/** For use within a statement: takes the lock whose name is an SQL expression, and is false if another transaction holds it. */
export const tryLockName = (name: string): string => `pg_try_advisory_xact_lock(${hashed(name)})`
