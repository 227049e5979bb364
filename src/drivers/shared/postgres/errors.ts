/** Classification of the errors of PostgreSQL and of the network. */
import { DrizzleQueryError } from 'drizzle-orm'
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'

/** SQLSTATE of a PostgreSQL error, or the client's code if the server did not answer. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { errno, code } = error as { errno?: unknown; code?: unknown }
  return typeof errno === 'string' ? errno : typeof code === 'string' ? code : ''
}

const isLostCode = (code: string): boolean => /^(?:08|57P0|25P03|ERR_POSTGRES_CONNECTION|ECONN|EPIPE)/.test(code)
/** Whether the connection is lost or was never established. */
export const isLost = (error: unknown): boolean => isLostCode(codeOf(error))
/** Whether the connection is lost and a retry makes sense, which it does not after a timeout of the network. */
export const isLostAtOnce = (error: unknown): boolean =>
  isLost(error) && codeOf(error) !== 'ERR_POSTGRES_CONNECTION_TIMEOUT'
/** Whether the transaction lost a conflict with another one and can run again. */
export const isRetryable = (error: unknown): boolean => /^(?:40001|40P01)$/.test(codeOf(error))

/** Converts anything thrown to a storage error; `what` describes the operation. Neither contains the address, which has a password. */
export function storageErrorOf(thrown: unknown, what: string): StorageError {
  // The message of the query builder contains the parameters.
  const error = thrown instanceof DrizzleQueryError ? thrown.cause : thrown
  if (isStorageError(error)) return error
  const code = codeOf(error)
  const kind =
    isLostCode(code) || /^(?:40|53|55|57|58|25006|28|3D|ERR_POSTGRES)/.test(code)
      ? 'unavailable'
      : /^XX00[12]$/.test(code) || error instanceof SyntaxError
        ? 'corrupt'
        : 'invalid'
  const message = messageOf(error)
  return new StorageError(kind, `postgres: ${what}: ${message} (${code})`, { cause: error })
}
