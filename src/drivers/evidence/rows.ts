/** Data that both engines store in the same form: the format of the log, its head, and the keys of webhook records. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { Evidence, EvidenceRecord, WebhookKey } from '../../../sdk/storage/evidence.ts'
import { noHash } from '../../../sdk/storage/evidence-checks.ts'
import type { LedgerHead } from '../../../sdk/storage/ledger.ts'
import { newerFormat } from '../../core/format.ts'

/** A log that is only read. */
export type EvidenceReads = Omit<Evidence, 'driver' | 'append' | 'saveCheckpoint' | 'close'>

/** Version of the hash formula; the program knows no other. */
const chainFormat = 3

/** @throws StorageError `invalid` if `place` has another format */
export function checkFormat(format: string | undefined, place: string): void {
  if (format === String(chainFormat)) return
  const what = `the chain format of ${place}`
  throw new StorageError(
    'invalid',
    Number(format) > chainFormat
      ? newerFormat(what, Number(format), chainFormat)
      : `${what} is ${format}, expected ${chainFormat}`,
  )
}

/** Returns the head that the next record follows. @throws StorageError `corrupt` if the last record is not the one named by the head */
export function checkEnd(
  head: LedgerHead,
  last: Pick<EvidenceRecord, 'seq' | 'hash'> | undefined | null,
  engine: string,
): LedgerHead {
  const { seq, hash } = last ?? { seq: 0, hash: noHash }
  if (seq === head.seq && hash === head.hash) return head
  throw new StorageError('corrupt', `${engine} evidence: the log ends at record ${seq}, its head says ${head.seq}`)
}

/** Payload fields by which webhook records are looked up. */
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

/** The commit hashes in a payload, without duplicates. */
export const commitsOf = ({ sha, merge_commit_sha }: Record<string, unknown>): string[] => [
  ...new Set([sha, merge_commit_sha].filter((one) => typeof one === 'string' && isCommit(one)).map(String)),
]

/** Exclusive upper bound of all hashes that begin with these digits. */
export const afterHashes = (digits: string): string => `${digits}g`

/** Whether a text is a commit hash. Only hashes are indexed: other text may be too long for an index. */
export const isCommit = (text: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(text)
