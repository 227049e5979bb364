/** What an embedder answers once it is closed. */

import { StorageError } from '../../../../sdk/storage/errors.ts'

export const closedError = (driver: string): StorageError =>
  new StorageError('unavailable', `The ${driver} embedder is closed`)
