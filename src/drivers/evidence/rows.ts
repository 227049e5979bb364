/** Data that both engines store in the same form: the log's format, its head, and the keys of webhooks' records. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceHead, EvidenceRecord, WebhookKey } from '../../../sdk/storage/evidence.ts'
import { noHash } from '../../../sdk/storage/evidence-checks.ts'

/** A log that is only read. */
export type EvidenceReads = Omit<Evidence, 'driver' | 'append' | 'packed' | 'saveCheckpoint' | 'close'>

/** The only formula of the hash that this program knows. */
const chainFormat = '3'

/** @throws StorageError `invalid` when `place` has another format */
export function checkFormat(format: string | undefined, place: string): void {
  if (format === chainFormat) return
  const message = `${place} has chain format ${format}; this program knows format ${chainFormat}`
  throw new StorageError('invalid', `${message}: start the newer program`)
}

/** The head that the next record follows. @throws StorageError `corrupt` when the last record is not the one that the head names */
export function checkEnd(
  head: EvidenceHead,
  last: Pick<EvidenceRecord, 'seq' | 'hash'> | undefined | null,
  engine: string,
): EvidenceHead {
  const { seq, hash } = last ?? { seq: 0, hash: noHash }
  if (seq === head.seq && hash === head.hash) return head
  throw new StorageError('corrupt', `${engine} evidence: the log ends at record ${seq}, its head says ${head.seq}`)
}

/** The fields of a webhook's payload by which its record is found. */
export const keyFields: readonly WebhookKey['field'][] = [
  'pr_number',
  'sha',
  'merge_commit_sha',
  'delivery_id',
  'body_sha256',
]

export const isWebhook = ({ source }: EvidenceRecord): boolean => source.startsWith('webhook:')

export function webhookKeysOf(payload: Record<string, unknown>): WebhookKey[] {
  return keyFields.flatMap((field) => {
    const value = payload[field]
    return typeof value === 'string' || typeof value === 'number' ? [{ field, value }] : []
  })
}

/** Hashes of the commits that a payload names, without duplicates. */
export const commitsOf = ({ sha, merge_commit_sha }: Record<string, unknown>): string[] => [
  ...new Set([sha, merge_commit_sha].filter((one) => typeof one === 'string' && isCommit(one)).map(String)),
]

/** What follows all hashes that begin with these digits. */
export const afterHashes = (digits: string): string => `${digits}g`

/** What is no hash may be of any length, which no index takes. */
export const isCommit = (text: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(text)
