/** Names of the advisory locks, so that no two parts of the program share one. */

/** First half of a lock's key; the second is a hash of what is locked. */
const space = 0x63737470

/** What the locks stand for. */
export type LockKind = 'decision' | 'source' | 'counts' | 'generations' | 'keyed' | 'retention'

const hashed = (name: string): string => `hashtextextended(${name}, ${space})`
/** Waits for these names, in the order given, and holds them until the transaction ends. */
export const lockNames = `select case when alone then pg_advisory_xact_lock(${hashed('name')}) else pg_advisory_xact_lock_shared(${hashed('name')}) end
  from unnest($1::text[], $2::bool[]) as wanted (name, alone)`
/** Those of these names that somebody else holds; all others are locked until the transaction ends. */
export const namesHeld = `select name from unnest($1::text[], $2::bool[]) as wanted (name, alone)
  where not case when alone then pg_try_advisory_xact_lock(${hashed('name')}) else pg_try_advisory_xact_lock_shared(${hashed('name')}) end`
/** Within a statement, for a name that is an SQL expression: whether nobody else holds it. */
export const tryLockName = (name: string): string => `pg_try_advisory_xact_lock(${hashed(name)})`
