/** How often each rule fired, by the checks in the audit trail. */
import type { AuditReader } from '../../../../sdk/storage/audit.ts'
import { checkOf, isDryRun } from '../../../core/audit.ts'

const pageSize = 500
/** Most checks that are read. */
const maxChecks = 10_000

/**
 * Checks in which each rule fired, also in shadow mode; dry runs are left out.
 * @returns `from_ms`: the requested start, or when the oldest counted check was made if there are more
 */
export async function firedSince(
  audit: AuditReader,
  since_ms: number,
): Promise<{ counts: Map<string, number>; from_ms: number }> {
  const checks = new Map<string, Set<string>>()
  let from_ms = since_ms
  let cursor: number | undefined
  for (let read = 0; read < maxChecks; ) {
    const entries = await audit.list({ since_ms, limit: pageSize, ...(cursor !== undefined && { cursor }) })
    for (const entry of entries) {
      if (entry.allowed === null || isDryRun(entry)) continue
      for (const rule of [...entry.rules, ...wouldBlock(entry.detail)])
        checks.set(rule, (checks.get(rule) ?? new Set()).add(checkOf(entry)))
    }
    if (entries.length < pageSize) break
    read += entries.length
    cursor = entries.at(-1)!.seq
    if (read >= maxChecks) from_ms = Date.parse(entries.at(-1)!.at)
  }
  return { counts: new Map([...checks].map(([rule, those]) => [rule, those.size])), from_ms }
}

/** The rules in shadow mode that fired. */
const wouldBlock = (detail: unknown): string[] => {
  const names = typeof detail === 'object' && detail !== null && 'would_block' in detail ? detail.would_block : []
  return Array.isArray(names) ? names.filter((one) => typeof one === 'string') : []
}
