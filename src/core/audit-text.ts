/** The JSON of an audit entry's lists and detail, serialised once for counting, storing and hashing. */
import type { AuditEntry } from '../../sdk/storage/store.ts'

export interface AuditTexts {
  ids: string
  rules: string
  /** `null` if there is none. */
  detail: string
}

const made = new WeakMap<AuditEntry, AuditTexts>()

/** @param entry must not be changed afterwards */
export function auditTexts(entry: AuditEntry): AuditTexts {
  const known = made.get(entry)
  if (known !== undefined) return known
  const { ids, rules, detail } = entry
  const texts = {
    ids: JSON.stringify(ids),
    rules: JSON.stringify(rules),
    detail: JSON.stringify(detail ?? null),
  }
  made.set(entry, texts)
  return texts
}
