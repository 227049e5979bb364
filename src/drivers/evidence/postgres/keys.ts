/** By what of their payloads records are found. */
import type { EvidenceRecord, WebhookKey } from '../../../../sdk/storage/evidence.ts'

const fields: readonly WebhookKey['field'][] = ['pr_number', 'sha', 'merge_commit_sha', 'delivery_id', 'body_sha256']

/** A value as the table has it: an integer is not the text of its digits. */
export const keyText = (value: string | number): string => JSON.stringify(value)

export interface Keys {
  webhook: { field: string; value: string; seq: number }[]
  pullRequests: { pr_number: number; seq: number }[]
}

/** Of the records that hold any. @throws SyntaxError for a payload that is not JSON */
export function keysOf(records: readonly EvidenceRecord[]): Keys {
  const keys: Keys = { webhook: [], pullRequests: [] }
  for (const { seq, source, payload } of records) {
    const isWebhook = source.startsWith('webhook:')
    // Most records are of neither: their payload is not parsed.
    if (!isWebhook && !payload.includes('"pr_number"')) continue
    const values = JSON.parse(payload) as Record<string, unknown>
    if (Number.isSafeInteger(values.pr_number)) keys.pullRequests.push({ pr_number: values.pr_number as number, seq })
    if (!isWebhook) continue
    for (const field of fields) {
      const value = values[field]
      if (typeof value === 'string' || typeof value === 'number')
        keys.webhook.push({ field, value: keyText(value), seq })
    }
  }
  return keys
}
