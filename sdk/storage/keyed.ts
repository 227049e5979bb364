/**
 * Keyed records of the store port: small JSON values by collection and key, for everything that servers agree on besides decisions, such
 * as circuit breakers, logins, deliberation sessions and the results of repeatable writes. What a value means is its caller's concern.
 */

/** A stored value. */
export interface KeyedRecord {
  key: string
  /** JSON; undefined is stored as null. */
  value: unknown
  /** Counts the writes to this key since it was created, from 1. */
  version: number
  /** Milliseconds since 1970 from which {@link KeyedWriter.expire} removes it; null: never. Until it is removed it is read as before. */
  expires_ms: number | null
}

/**
 * The collection of the decisions that wait for their vectors, by id; due from `expires_ms` on. A driver that drops vectors by itself puts
 * the decision there.
 */
export const outboxCollection = 'outbox'

/** How a wait for vectors went so far. */
export interface OutboxValue {
  /** How often somebody began to make them. */
  attempts: number
  /** Why the last one failed. */
  error: string | null
}

/** Of a decision that nobody began with. */
export const newOutboxValue: OutboxValue = { attempts: 0, error: null }

/** Reads keyed records. */
export interface KeyedReader {
  /** Those of these keys that exist, in the order asked for. */
  get(collection: string, keys: readonly string[]): Promise<KeyedRecord[]>
  /** Records whose key begins with `prefix` and follows `after` in the order, which is by key, by default ascending. */
  list(
    collection: string,
    query: { prefix?: string; after?: string; order?: 'asc' | 'desc'; limit: number },
  ): Promise<KeyedRecord[]>
}

/** Keyed records inside a transaction. What `get` found, or did not find, stays so until the transaction ends. */
export interface KeyedWriter extends Pick<KeyedReader, 'get'> {
  /**
   * Creates the record or replaces it.
   * @param options.version the version that it replaces, 0 for none: without it whatever is there is replaced
   * @throws StorageError `conflict` when another version is stored
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
   * Removes and returns up to `limit` records that expired at `now_ms` or before, the oldest first. A record that another transaction
   * works on is left for the next time.
   */
  expire(collection: string, now_ms: number, limit: number): Promise<KeyedRecord[]>
}

/**
 * All records of a collection whose key begins with `prefix`, a page at a time, by key.
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
 * The same one by one, in the opposite order: for what is asked for from its end.
 * @example
 * ```ts
 * for await (const { value } of newestKeyed(store.keyed, 'revision', `${id}/`)) return value
 * ```
 */
export async function* newestKeyed(
  keyed: Pick<KeyedReader, 'list'>,
  collection: string,
  prefix: string,
): AsyncGenerator<KeyedRecord> {
  const limit = 50
  for (let after: string | undefined; ; ) {
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
