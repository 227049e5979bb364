/** Shared by the stores: whether a transaction's methods may still be used. */
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'

/** The state of a running transaction. */
export interface Member {
  open: boolean
  /** The error of a method that may have left its work half done: the transaction can no longer commit. */
  broken: unknown
}

export const newMember = (): Member => ({ open: true, broken: undefined })

export type Verb = <A extends unknown[], R>(run: (...args: A) => R) => (...args: A) => Promise<R>

/**
 * Wraps plain functions as methods of a transaction: they work while it is open, and throw only StorageErrors or what `translate` returns.
 */
export function verbsOf(member: Member, translate: (error: unknown) => unknown): Verb {
  return (run) =>
    async (...args) => {
      if (!member.open) throw new StorageError('invalid', 'the transaction is over')
      try {
        return run(...args)
      } catch (error) {
        // Refusals happen before anything is written: `work` may catch them and continue.
        if (isStorageError(error)) throw error
        member.broken = translate(error)
        throw member.broken
      }
    }
}
