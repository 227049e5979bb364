/** Lines of the audit trail around known instants: it has no index by decision, but it is in the order of time. */
import type { AuditReader, StoredAuditEntry } from '../../../sdk/storage/store.ts'

/** The instant that a record keeps and that of its line are taken a moment apart. */
const slackMs = 5_000
const pageSize = 100
/** Lines that are looked at for one instant; a busier second hides those before them. */
const maxLines = 5_000

type Reader = Pick<AuditReader, 'list'>

/** The place after the last line of a time or before, by halving. */
async function placeAfter(audit: Reader, at_ms: number, newest: number): Promise<number> {
  let [low, high] = [1, newest + 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [line] = await audit.list({ cursor: middle, limit: 1 })
    if (line && Date.parse(line.at) > at_ms) high = middle - 1
    else low = middle
  }
  return low
}

/** Lines near any of these instants that match, oldest first. */
export async function linesNear(
  audit: Reader,
  instants_ms: readonly number[],
  matches: (line: StoredAuditEntry) => boolean,
): Promise<StoredAuditEntry[]> {
  const [last] = await audit.list({ limit: 1 })
  const found = new Map<number, StoredAuditEntry>()
  let covered_ms = Number.NEGATIVE_INFINITY
  for (const at_ms of instants_ms.toSorted((a, b) => a - b)) {
    if (!last || at_ms <= covered_ms) continue
    covered_ms = at_ms + slackMs
    let cursor = await placeAfter(audit, covered_ms, last.seq)
    for (let seen = 0; seen < maxLines; seen += pageSize) {
      const page = await audit.list({ cursor, limit: pageSize })
      for (const line of page) if (matches(line)) found.set(line.seq, line)
      const oldest = page.at(-1)
      if (page.length < pageSize || !oldest || Date.parse(oldest.at) < at_ms - slackMs) break
      cursor = oldest.seq
    }
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq)
}
