/** The five ways in which storage can fail. Drivers throw nothing else on purpose. */

/**
 * - `not_found`: the thing addressed does not exist (only where absence is not an ordinary answer).
 * - `conflict`: it exists already, or its revision is not the expected one. Reading again and retrying may help.
 * - `invalid`: the call itself is wrong: a vector of another length, an unknown side, a bad option.
 * - `unavailable`: the engine is unreachable, full, read-only or too busy. The same call may go through later; nothing was written, unless `unclear`.
 * - `corrupt`: what is stored can't be read back as what was written.
 */
export type StorageErrorKind = 'not_found' | 'conflict' | 'invalid' | 'unavailable' | 'corrupt'

/** What a driver throws; its message may name files, so it is for logs and never for callers. */
export class StorageError extends Error {
  readonly kind: StorageErrorKind
  /** The connection broke while a commit was under way: all of it may have been written, or none. */
  readonly unclear: boolean

  constructor(kind: StorageErrorKind, message: string, options?: ErrorOptions & { unclear?: boolean }) {
    super(message, options)
    this.name = 'StorageError'
    this.kind = kind
    this.unclear = options?.unclear ?? false
  }
}

/**
 * True for a {@link StorageError}, of the given kind where one is named; also for one of another copy of this package.
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
