/** Finds audit entries around known instants: the trail has no index by decision, but it is ordered by time. */
import type { AuditReader, StoredAuditEntry } from '../../../../sdk/storage/store.ts'

/** The instants of a record and of its audit entry are taken a moment apart. */
const slackMs = 5_000
const linesAtOnce = 100
/** Most audit entries that are read for one instant; if there are more around it, the older ones are missed. */
const maxLines = 5_000

export type Audit = Pick<AuditReader, 'list'>

/** The position after the last row at or before a time, by binary search. */
async function placeAfter(audit: Audit, at_ms: number, newest: number): Promise<number> {
  let [low, high] = [1, newest + 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const [line] = await audit.list({ cursor: middle, limit: 1 })
    if (line && Date.parse(line.at) > at_ms) high = middle - 1
    else low = middle
  }
  return low
}

/** The matching rows near any of these instants, oldest first. */
export async function linesNear(
  audit: Audit,
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
    for (let seen = 0; seen < maxLines; seen += linesAtOnce) {
      const page = await audit.list({ cursor, limit: linesAtOnce })
      for (const line of page) if (matches(line)) found.set(line.seq, line)
      const oldest = page.at(-1)
      if (page.length < linesAtOnce || !oldest || Date.parse(oldest.at) < at_ms - slackMs) break
      cursor = oldest.seq
    }
  }
  return [...found.values()].sort((a, b) => a.seq - b.seq)
}
