/** Names of the advisory locks, so that no two parts of the program share one. */

/** First half of a lock's key; the second is a hash of what is locked. */
const space = 0x63737470

/** What the locks that take a key stand for. */
export type LockKind = 'decision' | 'source' | 'counts' | 'generations' | 'keyed' | 'retention'

const hashed = (name: string): string => `hashtextextended(${name}, ${space})`
/** Of names, in the order given: until the transaction ends. */
export const nameLock = {
  exclusive: `select pg_advisory_xact_lock(${hashed('name')}) from unnest($1::text[]) as name`,
  shared: `select pg_advisory_xact_lock_shared(${hashed('name')}) from unnest($1::text[]) as name`,
}
/** The same within a statement, for a name that is an SQL expression; of the second, whether nobody else holds it. */
export const lockName = (name: string): string => `pg_advisory_xact_lock(${hashed(name)})`
export const tryLockName = (name: string): string => `pg_try_advisory_xact_lock(${hashed(name)})`
