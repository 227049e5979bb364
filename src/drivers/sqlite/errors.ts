/** Turns what SQLite and the file system throw into storage errors. */
import { SQLiteError } from 'bun:sqlite'
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'

const unavailable = /^SQLITE_(BUSY|LOCKED|FULL|READONLY|IOERR|CANTOPEN|NOMEM|PERM|AUTH|INTERRUPT|PROTOCOL|NOLFS)/
const corrupt = /^SQLITE_(CORRUPT|NOTADB)/

export const isBusy = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? '')

export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)/.test(error.code ?? '')

/** A storage error for anything thrown; `what` says what was being done. */
export function storageErrorOf(error: unknown, what: string): StorageError {
  if (isStorageError(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const kind =
    corrupt.test(code) || error instanceof SyntaxError
      ? 'corrupt'
      : unavailable.test(code) || /^E[A-Z]+$/.test(code)
        ? 'unavailable'
        : 'invalid'
  return new StorageError(kind, `sqlite: ${what}: ${message}${code === '' ? '' : ` (${code})`}`, { cause: error })
}
