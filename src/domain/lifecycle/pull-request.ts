/** The history of a pull request in the evidence log. */
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { neutral } from '../policy/facts/evidence.ts'
import { standing } from '../record/decision/overruled.ts'
import { type Closed, closedBy, type ReviewEvent } from './closed.ts'

/** The events of a pull request in the evidence log: observed ones, and reverts that the service inferred from them. */
export interface PullRequestHistory {
  merged_at: string | null
  /** First event after the merge that shows its failure, an observed one before an inferred one. */
  failed: Failed | null
  /** First event of the pull request. */
  first_at: string
  /** Closed without a merge. */
  closed: Closed | null
  /** What the latest results of its checks say; absent without any. */
  checks?: 'passed' | 'failed'
}

export interface Failed {
  at: string
  what: 'reverted' | 'named in an incident'
  is_inferred: boolean
}

/** Events that show that a merged pull request failed. */
const failures: Record<string, Failed['what']> = { pr_reverted: 'reverted', incident: 'named in an incident' }

const page = 500

interface Seen extends ReviewEvent {
  repo: string | null
  is_inferred: boolean
}

const seen = ({ event_type, ts, payload: text, evidence_class }: EvidenceRecord): Seen => {
  const payload = JSON.parse(text) as Record<string, unknown>
  const repo = typeof payload.repo === 'string' ? payload.repo : null
  return { event_type, ts, payload, repo, is_inferred: evidence_class === 'inferred' }
}

/** Every record about a pull request number. */
export async function recordsOf(evidence: Pick<Evidence, 'ofPullRequest'>, pr: number): Promise<EvidenceRecord[]> {
  const found: EvidenceRecord[] = []
  for (let seq = 1; ; ) {
    const records = await evidence.ofPullRequest(pr, seq, page)
    found.push(...records)
    if (records.length < page) return found
    seq = records.at(-1)!.seq + 1
  }
}

/** The observed and inferred events of this pull request number in this repository, in the order of their own times. */
async function eventsOf(evidence: Evidence, project: string, pr: number): Promise<Seen[]> {
  const found = standing(await recordsOf(evidence, pr)).map(seen)
  // Numbers repeat across repositories: if any event names its repository, those that name none don't count.
  const named = found.some(({ repo }) => repo !== null)
  return found.filter(({ repo }) => !named || repo === project).sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts))
}

/** Whether the latest results of all checks are good. @param events in the order of their times */
function checksOf(events: readonly Seen[]): Pick<PullRequestHistory, 'checks'> {
  const latest = new Map<string, unknown>()
  for (const { event_type, payload } of events)
    if (event_type === 'ci_completed')
      latest.set(JSON.stringify([payload.check, payload.name, payload.app]), payload.conclusion)
  if (latest.size === 0) return {}
  const passed = [...latest.values()].every((one) => one === 'success' || neutral.includes(one))
  return { checks: passed ? 'passed' : 'failed' }
}

/**
 * The history of a pull request of a project; null without an event.
 */
export async function pullRequestHistory(
  evidence: Evidence,
  project: string,
  pr: number,
): Promise<PullRequestHistory | null> {
  const events = await eventsOf(evidence, project, pr)
  if (events.length === 0) return null
  const nothing = { merged_at: null, failed: null, closed: null }
  const history: PullRequestHistory = { ...nothing, first_at: events[0]!.ts, ...checksOf(events) }
  for (const event of events) {
    const { event_type, ts, is_inferred } = event
    const what = failures[event_type]
    if (event_type === 'pr_merged') history.merged_at ??= ts
    else if (what !== undefined && history.merged_at !== null) {
      if (history.failed === null || (history.failed.is_inferred && !is_inferred))
        history.failed = { at: ts, what, is_inferred }
    } else if (event_type === 'pr_closed') history.closed = closedBy(events, event)
    else if (event_type === 'pr_opened') history.closed = null
  }
  return history
}
