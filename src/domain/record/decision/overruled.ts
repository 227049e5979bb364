/** Events that the service inferred from observed ones, and that a curator may overrule by an event of its own; nothing is changed or removed. */
import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'

/** Type of the event that overrules another one. Its source begins with `cstp:`, which no other caller can name. */
export const overruledType = 'evidence_overruled'

const overruledBy = ({ event_type, evidence_class, source, payload }: EvidenceRecord): unknown =>
  event_type === overruledType && evidence_class === 'attested' && source.startsWith('cstp:')
    ? (JSON.parse(payload) as { seq?: unknown }).seq
    : null

/** The record that overrules this one, among the records of its pull request; undefined if none does. */
export const overrulingOf = (records: readonly EvidenceRecord[], seq: number): EvidenceRecord | undefined =>
  records.find((record) => overruledBy(record) === seq)

/** Observed records, and inferred ones that nobody overruled. @param records all records of a pull request */
export function standing(records: readonly EvidenceRecord[]): EvidenceRecord[] {
  const overruled = new Set(records.map(overruledBy))
  return records.filter(
    ({ evidence_class, seq }) =>
      evidence_class === 'observed' || (evidence_class === 'inferred' && !overruled.has(seq)),
  )
}
