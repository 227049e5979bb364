/** The hash formula of the chain: the one thing that the writer and the offline verifier share. */
import type { EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { sha256Hex } from './sha256.ts'

/** Version of the formula, stored with a log and in each bundle. */
export const chainFormat = 3

/**
 * What is hashed: the canonical JSON of the record's seven fields, its payload being canonical already. All but the payload are
 * escaped, so that no part of one field can pass for a part of another.
 */
export function preimage(record: Omit<EvidenceRecord, 'hash'>): string {
  const { seq, ts, source, event_type, evidence_class, payload, prev_hash } = record
  const text = JSON.stringify
  return `{"event_type":${text(event_type)},"evidence_class":${text(evidence_class)},"payload":${payload},"prev_hash":"${prev_hash}","seq":${seq},"source":${text(source)},"ts":${text(ts)}}`
}

/** SHA-256 of the {@link preimage} in UTF-8, lowercase hex. */
export const recordHash = (record: Omit<EvidenceRecord, 'hash'>): string => sha256Hex(preimage(record))
