/** What the stores share: which reasons a decision counts for, and whether a transaction's verbs may still be used. */
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'
import { settlerOf } from '../../../sdk/storage/fields.ts'

/** The types of a decision's reasons, with how often each stands and the sum of its strengths. */
export const reasonUses = ({ reasons }: Pick<DecisionRecord, 'reasons'>) =>
  [...Map.groupBy(reasons, ({ type }) => type)].map(([type, own]) => ({
    type,
    uses: own.length,
    strength: own.reduce((sum, { strength }) => sum + strength, 0),
  }))

/** Whether reasons count it: reviewed, and not settled by its age alone. */
export const isGrouped = (record: DecisionRecord): boolean =>
  record.status === 'reviewed' && record.outcome !== null && settlerOf(record) !== 'age'

/** One transaction among those that run. */
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
