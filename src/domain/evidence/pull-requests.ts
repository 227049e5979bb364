/** What the log knows of a pull request: its merge, its revert, its end without a merge. Only observed events count. */
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import type { PullRequestHistory } from '../attribution.ts'

const page = 500

interface Seen {
  event_type: string
  ts: string
  repo: string | null
}

const seen = ({ event_type, ts, payload }: EvidenceRecord): Seen => {
  const { repo } = JSON.parse(payload) as { repo?: unknown }
  return { event_type, ts, repo: typeof repo === 'string' ? repo : null }
}

/** The observed events of a number in this repository, in the order of their own times. */
async function eventsOf(evidence: Evidence, project: string, pr: number): Promise<Seen[]> {
  const found: Seen[] = []
  for (let seq = 1; ; ) {
    const records = await evidence.ofPullRequest(pr, seq, page)
    found.push(...records.filter(({ evidence_class }) => evidence_class === 'observed').map(seen))
    if (records.length < page) break
    seq = records.at(-1)!.seq + 1
  }
  // Numbers repeat in every repository: where any event says which one it is of, those that don't say so tell nothing.
  const named = found.some(({ repo }) => repo !== null)
  return found.filter(({ repo }) => !named || repo === project).sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts))
}

/**
 * The history of a pull request of a project; null where no observed event is of it.
 * @see open points "Attribution"
 */
export async function pullRequestHistory(
  evidence: Evidence,
  project: string,
  pr: number,
): Promise<PullRequestHistory | null> {
  const events = await eventsOf(evidence, project, pr)
  if (events.length === 0) return null
  const history: PullRequestHistory = { merged_at: null, reverted_at: null, closed_at: null }
  for (const { event_type, ts } of events) {
    if (event_type === 'pr_merged') history.merged_at ??= ts
    else if (event_type === 'pr_reverted' && history.merged_at !== null) history.reverted_at ??= ts
    else if (event_type === 'pr_closed') history.closed_at = ts
    else if (event_type === 'pr_opened') history.closed_at = null
  }
  return history
}
