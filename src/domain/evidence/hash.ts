/** The hash formula of the chain: the only code that the writer and the offline verifier share. */
import type { EvidenceRecord } from '../../../sdk/storage/evidence.ts'

/** Version of the formula, stored with a log and in each bundle. */
export const chainFormat = 3

/** Text that JSON writes as it is: printable ASCII without quotes and backslashes. */
const plain = /^[ !#-[\]-~]*$/

/**
 * The JSON of a text, which takes half the time for plain ones. A database that somebody changed may hold bytes or a number instead,
 * which must not pass for the text of them.
 */
const quoted = (text: string): string =>
  typeof text === 'string' && plain.test(text) ? `"${text}"` : JSON.stringify(text)

/**
 * What is hashed: the canonical JSON of the record's seven fields, its payload being canonical already. All but the payload are
 * escaped, so that no part of one field can be mistaken for a part of another.
 */
export function preimage(record: Omit<EvidenceRecord, 'hash'>): string {
  const { seq, ts, source, event_type, evidence_class, payload, prev_hash } = record
  return `{"event_type":${quoted(event_type)},"evidence_class":${quoted(evidence_class)},"payload":${payload},"prev_hash":"${prev_hash}","seq":${seq},"source":${quoted(source)},"ts":${quoted(ts)}}`
}

const mark = '|'
/** What is around the columns of a {@link preimage} whose texts need no escape: before the first, between any two, behind the last. */
export const preimageFrame: readonly string[] = preimage({
  ...{ ts: mark, source: mark, event_type: mark, payload: mark, prev_hash: mark },
  evidence_class: mark as 'observed',
  seq: mark as unknown as number,
}).split(mark)

/** SHA-256 of the {@link preimage} in UTF-8, lowercase hex. */
export const recordHash = (record: Omit<EvidenceRecord, 'hash'>): string => sha256Hex(preimage(record))

/** SHA-256 of a text in UTF-8, lowercase hex. For short texts the engine's own call is about 15 % faster than node's. */
const sha256Hex = (text: string): string => Bun.SHA256.hash(text, 'hex')

/** @param target 32 bytes, which may be part of a longer array */
export function sha256Into(target: Uint8Array, bytes: Uint8Array): void {
  Bun.SHA256.hash(bytes, target)
}
