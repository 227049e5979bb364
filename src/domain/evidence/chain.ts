/** Appending to the chain: numbers, hashes and the tree's growth for events that are already checked. */
import type { Evidence, EvidenceBatch, EvidenceHead, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { recordHash } from './hash.ts'
import { grow } from './tree.ts'

/** An event before it has a place: its payload is canonical JSON. */
export type NewEvent = Pick<EvidenceRecord, 'ts' | 'source' | 'event_type' | 'evidence_class' | 'payload'>

/** The events as records that follow a head. */
export function follow(head: EvidenceHead, events: readonly NewEvent[]): EvidenceBatch {
  let { seq, hash } = head
  const records = events.map((event) => {
    const { ts, source, event_type, evidence_class, payload } = event
    const record = { seq: ++seq, ts, source, event_type, evidence_class, payload, prev_hash: hash }
    hash = recordHash(record)
    return { ...record, hash }
  })
  const hashes = records.map((record) => record.hash)
  return { records, ...grow(head.frontier, head.seq, hashes) }
}

/** Appends events as one batch. */
export async function appendEvents(
  evidence: Evidence,
  events: readonly NewEvent[],
): Promise<{ first_seq: number; head: EvidenceHead }> {
  let first_seq = 0
  const head = await evidence.append((before) => {
    first_seq = before.seq + 1
    return follow(before, events)
  })
  return { first_seq, head }
}
