/** Outcomes of pending decisions from their pull requests: by evidence if there is any, else by age. */
import type { DecisionRecord, Outcome } from '../../../sdk/schema/decision.ts'
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { dayMs } from '../../core/time.ts'
import type { Attribution } from './outcome.ts'
import { type ReviewCall, review } from './review.ts'

/** The events of a pull request in the evidence log; only observed ones count. */
interface PullRequestHistory {
  merged_at: string | null
  reverted_at: string | null
  /** Closed without a merge. */
  closed_at: string | null
}

const days = (count: number): string => `${count} ${count === 1 ? 'day' : 'days'}`

/** The outcome of a decision by its pull request: the events of that are stronger than age. */
export function attribute(
  record: DecisionRecord,
  history: PullRequestHistory | null,
  stability_days: number,
  now_ms: number,
): Attribution {
  const pr = record.project?.pr
  const stable_ms = stability_days * dayMs
  if (history === null) {
    const age_ms = now_ms - Date.parse(record.created_at)
    const age = Math.floor(age_ms / dayMs)
    return age_ms >= stable_ms
      ? {
          outcome: 'success',
          basis: 'age',
          reason: `No evidence was found for PR ${pr}; the decision is ${days(age)} old`,
        }
      : {
          outcome: null,
          basis: 'age',
          reason: `No evidence was found for PR ${pr}; the decision is ${days(age)} old, ${days(stability_days)} are needed`,
        }
  }
  const { merged_at, reverted_at, closed_at } = history
  const evidence = (outcome: Outcome | null, reason: string): Attribution => ({ outcome, basis: 'evidence', reason })
  if (merged_at === null) {
    return closed_at === null
      ? evidence(null, `PR ${pr} is not merged yet`)
      : evidence('abandoned', `PR ${pr} was closed without a merge`)
  }
  const merged_ms = Date.parse(merged_at)
  if (reverted_at !== null && Date.parse(reverted_at) - merged_ms <= stable_ms) {
    return evidence('failure', `PR ${pr} was reverted within ${days(stability_days)} of its merge`)
  }
  if (now_ms - merged_ms < stable_ms) return evidence(null, `PR ${pr} was merged less than ${days(stability_days)} ago`)
  return evidence('success', `PR ${pr} was merged and not reverted for ${days(stability_days)}`)
}

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
  // Numbers repeat in every repository: if any event names its repository, those that name none don't count.
  const named = found.some(({ repo }) => repo !== null)
  return found.filter(({ repo }) => !named || repo === project).sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts))
}

/**
 * The history of a pull request of a project; null without an observed event.
 */
async function pullRequestHistory(evidence: Evidence, project: string, pr: number): Promise<PullRequestHistory | null> {
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

// The run over all pending decisions of a project.

const batch = 200

/** Pending decisions of the project with a pull request, oldest first, a page at a time. Decisions settled meanwhile skip none. */
async function* candidates({ store }: ReviewCall, project: string, created_from_ms: number) {
  for (let after: DecisionRecord | undefined; ; ) {
    const { records } = await store.decisions.list({
      filter: { project, status: ['pending'], created_from_ms },
      sort: 'created_at',
      order: 'asc',
      ...(after && { after }),
      offset: 0,
      limit: batch,
    })
    for (const record of records) {
      const pr = record.project?.pr
      if (pr != null) yield { record, pr }
    }
    after = records.at(-1)
    if (records.length < batch || after === undefined) return
  }
}

/** Attributes outcomes to the pending decisions of a project, and records them unless it is a dry run. */
export async function attributePending(
  call: ReviewCall & { evidence: Evidence },
  query: { project: string; created_from_ms: number; stability_days: number; dry_run: boolean },
): Promise<(Attribution & { id: string; pr: number; applied: boolean })[]> {
  const decisions = []
  for await (const { record, pr } of candidates(call, query.project, query.created_from_ms)) {
    const history = await pullRequestHistory(call.evidence, query.project, pr)
    const found = attribute(record, history, query.stability_days, call.now())
    const { outcome, reason } = found
    const input = outcome && { outcome, actual_result: null, lessons: null, notes: reason }
    const applied = !query.dry_run && input !== null && (await review(call, record.id, input, found)) !== null
    decisions.push({ id: record.id, pr, ...found, applied })
  }
  return decisions
}
