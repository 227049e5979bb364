/** One transaction among those that run: whether its verbs may still be used, and what went wrong inside. */
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'

export interface Member {
  open: boolean
  /** What a verb failed with that may have left its work half done: the transaction can't commit any more. */
  broken: unknown
}

export const newMember = (): Member => ({ open: true, broken: undefined })

export type Verb = <A extends unknown[], R>(run: (...args: A) => R) => (...args: A) => Promise<R>

/** Makes verbs of plain functions: they work while the transaction does, and throw nothing but what `translate` makes of it. */
export function verbsOf(member: Member, translate: (error: unknown) => unknown): Verb {
  return (run) =>
    async (...args) => {
      if (!member.open) throw new StorageError('invalid', 'the transaction is over')
      try {
        return run(...args)
      } catch (error) {
        // Refusals come before anything is written: `work` may catch them and go on.
        if (isStorageError(error)) throw error
        member.broken = translate(error)
        throw member.broken
      }
    }
}
