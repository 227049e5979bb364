/** For drivers that write in plain functions: whether the methods of a transaction may still be used. */
import { isStorageError, StorageError } from './errors.ts'

/** The state of a running transaction. */
export interface Member {
  open: boolean
  /** The error of a method that may have left its work half done: the transaction can no longer commit. */
  broken: unknown
}

/**
 * The state of a transaction that has just begun.
 * @example
 * ```ts
 * const member = newMember()
 * try { await work(methods) } finally { member.open = false }
 * ```
 */
export const newMember = (): Member => ({ open: true, broken: undefined })

/** Makes a plain function a method of a transaction. */
export type Verb = <A extends unknown[], R>(run: (...args: A) => R) => (...args: A) => Promise<R>

/**
 * Wraps plain functions as methods of a transaction: they work while it is open, and throw only StorageErrors or what `translate` returns.
 * @example
 * ```ts
 * const verb = verbsOf(member, (error) => error)
 * const keyed = { delete: verb((collection: string, keys: readonly string[]) => remove(collection, keys)) }
 * ```
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
