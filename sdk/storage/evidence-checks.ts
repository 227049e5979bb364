/** What every evidence driver checks before it appends; the hashes themselves are the domain's to make and to verify. */
import { StorageError } from './errors.ts'
import type { EvidenceHead, EvidenceRecord } from './evidence.ts'

/** The hash before the first record. */
export const noHash = '0'.repeat(64)

/** @throws StorageError `invalid` when a record does not follow the one before it */
export function followsHead(head: EvidenceHead, records: readonly EvidenceRecord[]): void {
  let { seq, hash } = head
  for (const record of records) {
    if (record.seq !== seq + 1)
      throw new StorageError('invalid', `the record after ${seq} has the number ${record.seq}`)
    if (record.prev_hash !== hash)
      throw new StorageError('invalid', `record ${record.seq} does not name the hash before it`)
    if (!/^[0-9a-f]{64}$/.test(record.hash))
      throw new StorageError('invalid', `record ${record.seq}: the hash is not 64 lower-case hexadecimal digits`)
    ;({ seq, hash } = record)
  }
}
