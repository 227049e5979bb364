/** How often each rule fired, by the checks in the audit trail. */
import type { AuditReader } from '../../../../sdk/storage/audit.ts'

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
  const counts = new Map<string, number>()
  let cursor: number | undefined
  for (let read = 0; read < maxChecks; ) {
    const entries = await audit.list({ since_ms, limit: pageSize, ...(cursor !== undefined && { cursor }) })
    for (const { allowed, rules, detail } of entries) {
      if (allowed === null || isDryRun(detail)) continue
      for (const rule of new Set([...rules, ...wouldBlock(detail)])) counts.set(rule, (counts.get(rule) ?? 0) + 1)
    }
    if (entries.length < pageSize) return { counts, from_ms: since_ms }
    read += entries.length
    cursor = entries.at(-1)!.seq
    if (read >= maxChecks) return { counts, from_ms: Date.parse(entries.at(-1)!.at) }
  }
  return { counts, from_ms: since_ms }
}

const isDryRun = (detail: unknown): boolean =>
  typeof detail === 'object' && detail !== null && 'dry_run' in detail && detail.dry_run === true

/** The rules in shadow mode that fired. */
const wouldBlock = (detail: unknown): string[] => {
  const names = typeof detail === 'object' && detail !== null && 'would_block' in detail ? detail.would_block : []
  return Array.isArray(names) ? names.filter((one) => typeof one === 'string') : []
}
