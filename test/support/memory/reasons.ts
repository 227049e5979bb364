/** Reviewed decisions grouped by reasons, from the records themselves: what the durable drivers compute in their engines. */
import type { DecisionRecord, Outcome } from '../../../sdk/schema/decision.ts'
import { compareText } from '../../../sdk/storage/fields.ts'
import type { ReasonGroup } from '../../../sdk/storage/store.ts'
import { isGrouped, reasonUses } from '../../../src/drivers/store/groups.ts'

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
