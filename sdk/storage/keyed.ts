/**
 * Keyed records of the store port: small JSON values by collection and key, for everything besides decisions that servers must agree on,
 * such as circuit breakers, logins, deliberation sessions and the results of repeatable writes. The meaning of a value is up to the caller.
 */

/** A stored value. */
export interface KeyedRecord {
  key: string
  /** JSON; undefined is stored as null. */
  value: unknown
  /** Number of writes to this key since it was created, from 1. */
  version: number
  /** Milliseconds since 1970 from which {@link KeyedWriter.expire} removes it; null: never. Until it is removed, reads still return it. */
  expires_ms: number | null
}

/**
 * The collection of the decisions that wait for their vectors, by id; each is due from its `expires_ms` on. A driver that drops vectors by
 * itself adds the decision here.
 */
export const outboxCollection = 'outbox'

/** The state of a decision that waits for its vectors. */
export interface OutboxValue {
  /** Number of attempts started. */
  attempts: number
  /** Why the last attempt failed. */
  error: string | null
}

/** The value of a decision without an attempt. */
export const newOutboxValue: OutboxValue = { attempts: 0, error: null }

/** Reads keyed records. */
export interface KeyedReader {
  /** The records with these keys that exist, in the order of `keys`. */
  get(collection: string, keys: readonly string[]): Promise<KeyedRecord[]>
  /** Records whose key begins with `prefix` and comes after `after`, ordered by key, by default ascending. */
  list(
    collection: string,
    query: { prefix?: string; after?: string; order?: 'asc' | 'desc'; limit: number },
  ): Promise<KeyedRecord[]>
}

/** Keyed records inside a transaction. What `get` found, or did not find, does not change until the transaction ends. */
export interface KeyedWriter extends Pick<KeyedReader, 'get'> {
  /**
   * Creates the record or replaces it.
   * @param options.version the version to replace, 0 if there must be none; if it is absent, any version is replaced
   * @throws StorageError `conflict` if another version is stored
   */
  put(
    collection: string,
    key: string,
    value: unknown,
    options?: { expires_ms?: number | null; version?: number },
  ): Promise<void>
  /** Removes records; a key that does not exist is ignored. */
  delete(collection: string, keys: readonly string[]): Promise<void>
  /**
   * Removes and returns up to `limit` records that expired at `now_ms` or before, oldest first. A record that another transaction is using
   * is skipped until the next call.
   */
  expire(collection: string, now_ms: number, limit: number): Promise<KeyedRecord[]>
}

/**
 * All records of a collection whose key begins with `prefix`, in pages of 500, ordered by key.
 * @example
 * ```ts
 * for await (const page of keyedPages(store.keyed, 'breaker')) count += page.length
 * ```
 */
export async function* keyedPages(
  keyed: Pick<KeyedReader, 'list'>,
  collection: string,
  prefix = '',
): AsyncGenerator<KeyedRecord[]> {
  const limit = 500
  for (let after: string | undefined; ; ) {
    const page = await keyed.list(collection, { prefix, ...(after !== undefined && { after }), limit })
    if (page.length > 0) yield page
    if (page.length < limit) return
    after = page.at(-1)!.key
  }
}

/**
 * The number of records of a collection.
 * @example
 * ```ts
 * const waiting = await countKeyed(store.keyed, outboxCollection)
 * ```
 */
export async function countKeyed(keyed: Pick<KeyedReader, 'list'>, collection: string): Promise<number> {
  let count = 0
  for await (const page of keyedPages(keyed, collection)) count += page.length
  return count
}

/**
 * All records of a collection whose key begins with `prefix` and comes before `after`, one by one, in descending order of key: for reading the newest first.
 * @example
 * ```ts
 * for await (const { value } of newestKeyed(store.keyed, 'revision', `${id}/`)) return value
 * ```
 */
export async function* newestKeyed(
  keyed: Pick<KeyedReader, 'list'>,
  collection: string,
  prefix: string,
  after?: string,
): AsyncGenerator<KeyedRecord> {
  const limit = 50
  for (;;) {
    const page = await keyed.list(collection, {
      prefix,
      order: 'desc',
      ...(after !== undefined && { after }),
      limit,
    })
    yield* page
    if (page.length < limit) return
    after = page.at(-1)!.key
  }
}
