/** Legal holds: set and lifted by curators; a held decision is not erased, neither on request nor by a rule. */
import { invalidParams } from '../../../../sdk/errors.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { Hold } from '../../../../sdk/schema/hold.ts'

/** The record with a hold more; one with the same author and reason is not set twice. */
export function withHold(record: DecisionRecord, hold: Hold): DecisionRecord {
  const holds = record.holds ?? []
  const isSet = holds.some(({ by, reason }) => by === hold.by && reason === hold.reason)
  return isSet ? record : { ...record, holds: [...holds, hold], updated_at: hold.since }
}

/** The record without its holds. */
export function withoutHolds({ holds, ...record }: DecisionRecord, at: string): DecisionRecord {
  return holds === undefined ? record : { ...record, updated_at: at }
}

/** @throws CstpError `invalid_params` if a hold keeps the decision */
export function requireNoHold({ id, holds = [] }: Pick<DecisionRecord, 'id' | 'holds'>): void {
  if (holds.length === 0) return
  const [{ by, reason, since }] = holds as [Hold, ...Hold[]]
  const others = holds.length === 1 ? '' : ` (and ${holds.length - 1} more)`
  throw invalidParams(
    {
      path: 'id',
      message: `${id} is under a legal hold of ${by} since ${since}${others}: ${reason}`,
      expected: 'a decision without a hold: setHold with on: false lifts it',
      received: 'a held decision',
    },
    { holds },
  )
}
