/** The JSON of a decision, serialised once for measuring, counting and storing. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'

const made = new WeakMap<DecisionRecord, string>()

/** @param record must not be changed afterwards */
export function recordText(record: DecisionRecord): string {
  let text = made.get(record)
  if (text === undefined) {
    text = JSON.stringify(record)
    made.set(record, text)
  }
  return text
}
