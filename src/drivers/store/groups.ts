/** Reviewed decisions grouped by reasons, from the records themselves: what the durable drivers compute in their engines. */
import type { DecisionRecord, Outcome } from '../../../sdk/schema/decision.ts'
import { isStorageError, StorageError } from '../../../sdk/storage/errors.ts'
import { compareText, settlerOf } from '../../../sdk/storage/fields.ts'
import type { ReasonGroup } from '../../../sdk/storage/store.ts'

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

type Reviewed = DecisionRecord & { outcome: Outcome }
const reviewed = (records: readonly DecisionRecord[]) =>
  records.filter((record): record is Reviewed => isGrouped(record))

export function reasonGroups(records: readonly DecisionRecord[]): ReasonGroup[] {
  const groups = new Map<string, ReasonGroup>()
  for (const record of reviewed(records)) {
    const { outcome, confidence_at_record: confidence } = record
    if (confidence === null) continue
    for (const { type, uses, strength } of reasonUses(record)) {
      const key = JSON.stringify([type, confidence, outcome])
      const group = groups.get(key) ?? { type, confidence, outcome, decisions: 0, uses: 0, strength: 0 }
      group.decisions++
      group.uses += uses
      group.strength += strength
      groups.set(key, group)
    }
  }
  return [...groups.values()].sort(
    (a, b) => compareText(a.type, b.type) || a.confidence - b.confidence || compareText(a.outcome, b.outcome),
  )
}

// One transaction among those that run: whether its verbs may still be used, and what went wrong inside.

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
