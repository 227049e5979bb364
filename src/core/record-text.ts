/** The JSON of a decision, made once for all who measure, count and keep it. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'

const made = new WeakMap<DecisionRecord, string>()

/** @param record is not changed any more */
export function recordText(record: DecisionRecord): string {
  let text = made.get(record)
  if (text === undefined) {
    text = JSON.stringify(record)
    made.set(record, text)
  }
  return text
}
