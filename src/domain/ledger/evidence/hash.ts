/** The hash formula of the chain: the only code that the writer and the offline verifier share. */
import type { EvidenceRecord } from '../../../../sdk/storage/evidence.ts'

/** Version of the formula, stored with a log and in each bundle. */
export const chainFormat = 3

/**
 * The hashed text: the canonical JSON of the record's seven fields, whose payload is canonical already. All fields but the payload are
 * escaped, so that no part of one field can be mistaken for a part of another.
 */
export function preimage(record: Omit<EvidenceRecord, 'hash'>): string {
  const { seq, ts, source, event_type, evidence_class, payload, prev_hash } = record
  const json = JSON.stringify
  return `{"event_type":${json(event_type)},"evidence_class":${json(evidence_class)},"payload":${payload},"prev_hash":"${prev_hash}","seq":${seq},"source":${json(source)},"ts":${json(ts)}}`
}

/** SHA-256 of a {@link preimage} in UTF-8, lowercase hex. */
export const textHash = (text: string): string => Bun.SHA256.hash(text, 'hex')

export const recordHash = (record: Omit<EvidenceRecord, 'hash'>): string => textHash(preimage(record))
