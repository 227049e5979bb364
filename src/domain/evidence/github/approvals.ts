/** Approvals of a pull request, counted as GitHub counts them. */
import type { Seen } from './parts.ts'

interface Review {
  id: unknown
  approves: boolean
  human: boolean
  at: number
}

const plainLogin = (login: unknown): string | null => (typeof login === 'string' ? login.toLowerCase() : null)

/**
 * For each reviewer the latest review that takes a side: approving counts one, requesting changes none, and a dismissed one none. A
 * comment takes no side. The author's own reviews never count. Logins are told apart as GitHub does, without a look at their case.
 * @param seen events of this pull request, in the order of the log
 * @param until what happened after it says nothing: deliveries may overtake each other
 */
export function approvals(
  seen: readonly Seen[],
  author: string | null,
  until = Number.POSITIVE_INFINITY,
): { approval_count: number; human_approval_count: number } {
  const dismissed = new Set<unknown>()
  const latest = new Map<unknown, Review>()
  for (const { ts, payload } of seen) {
    const { review_id: id, state, actor_is_human } = payload
    const reviewer = plainLogin(payload.reviewer)
    const at = Date.parse(ts)
    if (id === undefined || reviewer === null || reviewer === plainLogin(author) || !(at <= until)) continue
    if (state === 'dismissed') dismissed.add(id)
    if (state !== 'approved' && state !== 'changes_requested') continue
    const review = { id, approves: state === 'approved', human: actor_is_human === true, at }
    // Deliveries may come in another order than the reviews were made in.
    if (review.at >= (latest.get(reviewer)?.at ?? Number.NEGATIVE_INFINITY)) latest.set(reviewer, review)
  }
  const standing = [...latest.values()].filter(({ id, approves }) => approves && !dismissed.has(id))
  return { approval_count: standing.length, human_approval_count: standing.filter(({ human }) => human).length }
}
