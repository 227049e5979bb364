/** The five ways in which storage can fail. Drivers intentionally throw nothing else. */

/**
 * - `not_found`: the requested object does not exist (only if absence is not an ordinary result).
 * - `conflict`: the object already exists, or its revision is not the expected one. Reading again and retrying may help.
 * - `invalid`: the call itself is wrong: a vector of another length, an unknown side, a bad option.
 * - `unavailable`: the engine is unreachable, full, read-only or too busy. The same call may succeed later; nothing was written, unless
 *   `outcomeUnknown`.
 * - `corrupt`: stored data can't be read back as it was written.
 */
export type StorageErrorKind = 'not_found' | 'conflict' | 'invalid' | 'unavailable' | 'corrupt'

/** What a driver throws. Its message may name files, so it belongs in logs and must never reach callers. */
export class StorageError extends Error {
  readonly kind: StorageErrorKind
  /** The connection broke during a commit: either all of it was written, or nothing. */
  readonly outcomeUnknown: boolean

  constructor(kind: StorageErrorKind, message: string, options?: ErrorOptions & { outcomeUnknown?: boolean }) {
    super(message, options)
    this.name = 'StorageError'
    this.kind = kind
    this.outcomeUnknown = options?.outcomeUnknown ?? false
  }
}

/**
 * True for a {@link StorageError}, of the given kind if one is given; also for errors of another copy of this package.
 * @example
 * ```ts
 * await embedder.embed(texts, 'query', signal).catch((error) => {
 *   if (!isStorageError(error, 'unavailable')) throw error
 * })
 * ```
 */
export function isStorageError(error: unknown, kind?: StorageErrorKind): error is StorageError {
  if (!(error instanceof Error) || error.name !== 'StorageError') return false
  return kind === undefined || (error as StorageError).kind === kind
}
