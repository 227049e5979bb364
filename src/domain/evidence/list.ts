/** Pages of the evidence log. */
import type { Evidence, EvidenceClass, EvidenceRecord } from '../../../sdk/storage/evidence.ts'

export interface EvidenceQuery {
  seq_from: number
  seq_to: number
  event_type?: string | undefined
  evidence_class?: EvidenceClass | undefined
  limit: number
}

/** Records that one page looks at, whatever few of them it finds. */
const mostSeen = 20_000
const pageSize = 1_000

/** Matching records, ascending, and the number to go on from; null where there is nothing more. */
export async function listEvidence(
  evidence: Pick<Evidence, 'read'>,
  { seq_from, seq_to, event_type, evidence_class, limit }: EvidenceQuery,
): Promise<{ records: EvidenceRecord[]; next_seq: number | null }> {
  const records: EvidenceRecord[] = []
  const plain = event_type === undefined && evidence_class === undefined
  const size = plain ? Math.min(pageSize, limit + 1) : pageSize
  for (let seq = seq_from; seq - seq_from < mostSeen; seq += size) {
    const page = await evidence.read(seq, size)
    for (const record of page) {
      if (record.seq > seq_to) return { records, next_seq: null }
      if (records.length === limit) return { records, next_seq: record.seq }
      const matches =
        (event_type === undefined || record.event_type === event_type) &&
        (evidence_class === undefined || record.evidence_class === evidence_class)
      if (matches) records.push(record)
    }
    if (page.length < size) return { records, next_seq: null }
  }
  return { records, next_seq: seq_from + mostSeen }
}
