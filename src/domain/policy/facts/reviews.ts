/** Reviews of a pull request, from its observed events: which ones are in force, and which approvals count. */

/** The source of observed events of GitHub's webhook. */
export const source = 'webhook:github'

/** An event with its payload as an object, from the log or about to be added. */
export interface Seen {
  event_type: string
  ts: string
  payload: Readonly<Record<string, unknown>>
  /** True if the service concluded it from what somebody wrote: its class is `inferred`. */
  is_inferred?: boolean
}

/** Accounts whose approval counts. @see docs/guide/github.md */
const insiders: ReadonlySet<unknown> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR'])
export const isInsider = (association: unknown): boolean => insiders.has(association)

/** The latest opinion of a reviewer. */
export interface Review {
  /** Number of its event, if that is in the log. */
  seq: number
  id: unknown
  approves: boolean
  human: boolean
  inside: boolean
  sha: unknown
  at: number
}

/** A login, or the name of a repository, in lower case: GitHub compares both without regard to case. */
export const loginOf = (login: unknown): string | null => (typeof login === 'string' ? login.toLowerCase() : null)

/**
 * Approvals in force: the latest review of each reviewer that approves or requests changes, if it approves and was not dismissed. The
 * author's own reviews don't count.
 * @param seen events of this pull request, in the order of the log
 */
export function latestReviews(
  seen: readonly (Seen & { seq?: number })[],
  { author, until = Number.POSITIVE_INFINITY }: Pick<Counted, 'author' | 'until'>,
): Review[] {
  const dismissed = new Set<unknown>()
  const latest = new Map<unknown, Review>()
  for (const { ts, payload, seq = 0 } of seen) {
    const { review_id: id, state, actor_is_human } = payload
    const reviewer = loginOf(payload.reviewer)
    const at = Date.parse(ts)
    if (id === undefined || reviewer === null || reviewer === loginOf(author) || !(at <= until)) continue
    if (state === 'dismissed') dismissed.add(id)
    if (state !== 'approved' && state !== 'changes_requested') continue
    const [human, inside] = [actor_is_human === true, isInsider(payload.author_association)]
    const review = { seq, id, approves: state === 'approved', human, inside, sha: payload.reviewed_sha, at }
    // Deliveries may arrive in a different order than the reviews.
    if (review.at >= (latest.get(reviewer)?.at ?? Number.NEGATIVE_INFINITY)) latest.set(reviewer, review)
  }
  return [...latest.values()].filter(({ id, approves }) => approves && !dismissed.has(id))
}

/** Which reviews are counted. */
export interface Counted {
  author: string | null
  /** The head of the pull request: approvals of other commits do not count. */
  head: string
  /** Later reviews are ignored, because deliveries may overtake each other. */
  until?: number
}

export interface ApprovalCounts {
  approval_count: number
  human_approval_count: number
  /** People whose approval is for another commit than the head. */
  stale_approval_count: number
  /** People who are not owners, members or collaborators. */
  outside_approval_count: number
}

/**
 * Approvals that count: those in force, by an owner, member or collaborator, for the head.
 * @param seen events of this pull request, in the order of the log
 */
export function approvals(seen: readonly Seen[], { head, ...counted }: Counted): ApprovalCounts {
  const approving = latestReviews(seen, counted)
  const inside = approving.filter((review) => review.inside)
  const current = inside.filter(({ sha }) => sha === head)
  const people = (reviews: readonly Review[]) => reviews.filter(({ human }) => human).length
  return {
    approval_count: current.length,
    human_approval_count: people(current),
    stale_approval_count: people(inside) - people(current),
    outside_approval_count: people(approving) - people(inside),
  }
}
