/** Events that the service inferred, and that a curator may overrule by an event of its own; nothing is changed or removed. */
import { invalidParams } from '../../../../sdk/errors.ts'
import type { Evidence, EvidenceRecord } from '../../../../sdk/storage/evidence.ts'

/** Type of the event that overrules another one. Its source begins with `cstp:`, which no other caller can name. */
export const overruledType = 'evidence_overruled'

const overruledBy = ({ event_type, evidence_class, source, payload }: EvidenceRecord): unknown =>
  event_type === overruledType && evidence_class === 'attested' && source.startsWith('cstp:')
    ? (JSON.parse(payload) as { seq?: unknown }).seq
    : null

/** Observed records, and inferred ones that nobody overruled. @param records all records of a pull request */
export function standing(records: readonly EvidenceRecord[]): EvidenceRecord[] {
  const overruled = new Set(records.map(overruledBy))
  return records.filter(
    ({ evidence_class, seq }) =>
      evidence_class === 'observed' || (evidence_class === 'inferred' && !overruled.has(seq)),
  )
}

/** Payload members by which the overruling record is found like the overruled one. */
const keys = ['repo', 'pr_number', 'sha', 'merge_commit_sha'] as const

/**
 * The payload of the event that overrules an inferred one.
 * @throws CstpError `invalid_params` if there is no inferred event with this number
 */
export async function overruling(
  evidence: Pick<Evidence, 'read'>,
  { seq, reason, agent }: { seq: number; reason: string; agent: string },
): Promise<Record<string, unknown>> {
  const [record] = await evidence.read(seq, 1)
  const refuse = (message: string) =>
    invalidParams({ path: 'seq', message, expected: 'the number of an inferred event', received: String(seq) })
  if (record?.seq !== seq) throw refuse('no event has this number')
  if (record.evidence_class !== 'inferred') throw refuse(`this event is ${record.evidence_class}`)
  const payload = JSON.parse(record.payload) as Record<string, unknown>
  const found = keys.flatMap((key) => (payload[key] === undefined ? [] : [[key, payload[key]]]))
  return { ...Object.fromEntries(found), seq, event_type: record.event_type, reason, agent }
}
