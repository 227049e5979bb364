/** What the errors of PostgreSQL, and of the way to it, mean. */
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'

/** Class and code of a PostgreSQL error; the code of the client where the server said nothing. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  return typeof errno === 'string' ? errno : typeof code === 'string' ? code : ''
}

const isLostCode = (code: string): boolean => /^(?:08|57P0|25P03|ERR_POSTGRES_CONNECTION|ECONN|EPIPE)/.test(code)
/** The connection is gone, or was never there. */
export const isLost = (error: unknown): boolean => isLostCode(codeOf(error))
/** What is lost within a moment is worth another try; whoever has waited in vain for the network has waited long enough. */
export const isLostAtOnce = (error: unknown): boolean =>
  isLost(error) && codeOf(error) !== 'ERR_POSTGRES_CONNECTION_TIMEOUT'
/** The transaction lost against another one and may simply run again. */
export const isRetryable = (error: unknown): boolean => /^(?:40001|40P01)$/.test(codeOf(error))

/** A storage error for anything thrown; `what` says what was being done. Neither holds the address, which has a password in it. */
export function storageErrorOf(error: unknown, what: string): StorageError {
  if (isStorageError(error)) return error
  const code = codeOf(error)
  const kind =
    isLostCode(code) || /^(?:40|53|55|57|58|25006|28|3D|ERR_POSTGRES)/.test(code)
      ? 'unavailable'
      : /^XX00[12]$/.test(code) || error instanceof SyntaxError
        ? 'corrupt'
        : 'invalid'
  const message = error instanceof Error ? error.message : String(error)
  return new StorageError(kind, `postgres: ${what}: ${message} (${code})`, { cause: error })
}
