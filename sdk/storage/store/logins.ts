/** Logins of people at the dashboard. */

/** A person who is logged in at the dashboard. */
export interface Login {
  /** SHA-256 of the session's id, lowercase hex; the id itself is kept nowhere. */
  id_hash: string
  agent: string
  /** Ties the login to the token that it was made with, lowercase hex. */
  seal: string
  used_ms: number
  /** When it ends, however much it is used. */
  expires_ms: number
}

/** Logins of people at the dashboard, by the hash of their id. */
export interface LoginReader {
  /** The login as it was put, expired or not; null where there is none. */
  get(id_hash: string): Promise<Login | null>
}

/** Logins inside a transaction. */
export interface LoginWriter extends LoginReader {
  /** Adds a login, or replaces the one of the same id. */
  put(login: Login): Promise<void>
  /** Ends a login; one that is not there is ended already. */
  delete(id_hash: string): Promise<void>
  /** Drops those that expired at `now_ms` or before, and those not used since `unused_ms`; returns how many. */
  expire(now_ms: number, unused_ms: number): Promise<number>
}
