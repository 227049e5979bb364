/** How a pull request ended that was closed without a merge: rejected by its reviewers, or given up by its author. */
import { loginOf } from '../policy/facts/reviews.ts'

/** What an event of a pull request says about its end. */
export interface ReviewEvent {
  event_type: string
  ts: string
  payload: Record<string, unknown>
}

export interface Closed {
  at: string
  /** `rejected`: by a person who is not the author, while changes were requested. */
  how: 'rejected' | 'by its author' | 'by another' | 'unknown'
}

/** The reviewers whose latest review before this time asks for changes. The author's own reviews don't count, nor dismissed ones. */
function requestsChanges(events: readonly ReviewEvent[], author: string, until_ms: number): boolean {
  const dismissed = new Set(
    events.filter(({ payload }) => payload.state === 'dismissed').map(({ payload }) => payload.review_id),
  )
  const latest = new Map<string, { at: number; payload: Record<string, unknown> }>()
  for (const { ts, payload } of events) {
    const [reviewer, at] = [loginOf(payload.reviewer), Date.parse(ts)]
    if (reviewer === null || reviewer === author || payload.review_id === undefined || at > until_ms) continue
    if (payload.state !== 'approved' && payload.state !== 'changes_requested') continue
    // Deliveries may arrive in a different order than the reviews.
    if (at >= (latest.get(reviewer)?.at ?? Number.NEGATIVE_INFINITY)) latest.set(reviewer, { at, payload })
  }
  return [...latest.values()].some(
    ({ payload }) => payload.state === 'changes_requested' && !dismissed.has(payload.review_id),
  )
}

/** @param events those of the pull request; `closing` is one of them */
export function closedBy(events: readonly ReviewEvent[], closing: ReviewEvent): Closed {
  const { ts: at, payload } = closing
  const [author, sender] = [loginOf(payload.author), loginOf(payload.sender)]
  if (author === null || sender === null) return { at, how: 'unknown' }
  if (author === sender) return { at, how: 'by its author' }
  // A bot closes what is stale: nobody judged it.
  const isRejected = payload.actor_is_human === true && requestsChanges(events, author, Date.parse(at))
  return { at, how: isRejected ? 'rejected' : 'by another' }
}
