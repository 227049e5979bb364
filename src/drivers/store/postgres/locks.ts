/** Names of the advisory locks, so that no two parts of the program share one. */

/** First half of a lock's key; the second is a hash of what is locked. */
const space = 0x63737470

/** What the locks that take a key stand for. */
export type LockKind =
  | 'decision'
  | 'source'
  | 'session'
  | 'breaker'
  | 'idempotency'
  | 'generations'
  | 'breakers'
  | 'logins'

/** Held shared from the moment in which changes get their numbers until they are committed; exclusive to see where the feed ends. */
export const feedLock = {
  shared: `select pg_advisory_xact_lock_shared(${space}, 1)`,
  exclusive: `select pg_advisory_xact_lock(${space}, 1)`,
}

/** Of a key: until the transaction ends. */
export const keyLock = {
  exclusive: `select pg_advisory_xact_lock(hashtextextended($1, ${space}))`,
  shared: `select pg_advisory_xact_lock_shared(hashtextextended($1, ${space}))`,
}
