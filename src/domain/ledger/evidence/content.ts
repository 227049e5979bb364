/** The digest of a decision's content, taken when evidence is linked to it, so that a later change of the decision is detected. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { AuditReader } from '../../../../sdk/storage/store.ts'
import { jsonSha256 } from '../../../core/digest.ts'

/** What was decided, by whom and why. Later reviews, edges and derived values don't change it. */
const contentFields = [
  'id',
  'decision',
  'category',
  'stakes',
  'confidence',
  'context',
  'reasons',
  'alternatives_considered',
  'reasoning_trace',
  'tags',
  'pattern',
  'project',
  'recorded_by',
  'imported_by',
  'source_key',
  'created_at',
] as const satisfies readonly (keyof DecisionRecord)[]

/** SHA-256 of the whole record as canonical JSON, lowercase hex. */
export const recordDigest = (record: DecisionRecord): string => jsonSha256(record)

/** The same of its content fields only. */
export const contentDigest = (record: DecisionRecord): string =>
  jsonSha256(Object.fromEntries(contentFields.map((name) => [name, record[name]])))

/** The method whose audit entries hold digests. */
export const linkMethod = 'cstp.linkEvidence'
const pageSize = 500

/** What the audit entry of a link adds to its record in the chain, whose payload has only four fields. */
export interface LinkDetail {
  attested_seq: number
  event_seqs: readonly number[]
  content_sha256: string
}

/** The content digests at the time of each link, by the number of the attested record. */
export async function linkedDigests(audit: Pick<AuditReader, 'list'>): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  let cursor: number | undefined
  for (;;) {
    const page = await audit.list({ method: linkMethod, limit: pageSize, ...(cursor !== undefined && { cursor }) })
    for (const { detail } of page) {
      const { attested_seq, content_sha256 } = (detail ?? {}) as Partial<LinkDetail>
      // Rows come newest first: one that was added later for the same record is overwritten and does not count.
      if (typeof attested_seq === 'number' && typeof content_sha256 === 'string')
        found.set(attested_seq, content_sha256)
    }
    if (page.length < pageSize) return found
    cursor = page.at(-1)!.seq
  }
}
