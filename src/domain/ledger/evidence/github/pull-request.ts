/** Deliveries about pull requests, their reviews and review comments, and reverts of merges. */
import * as v from 'valibot'
import { approvals, type Seen } from '../../../policy/facts/reviews.ts'
import {
  Account,
  authorship,
  branchPushed,
  Count,
  event,
  foreign,
  isHuman,
  kind,
  Repository,
  Sha,
  Text,
  Time,
} from './parts.ts'
import { reversals, revertsIn } from './reverts.ts'

const Side = v.object({ ref: Text, sha: Sha, repo: v.nullish(Repository) })

/** The members of a pull request that all deliveries have. */
const PullRequest = v.object({
  number: Count,
  title: Text,
  user: Account,
  head: Side,
  base: Side,
  updated_at: Time,
})
type PullRequest = v.InferOutput<typeof PullRequest>

/** Payload members of every event of a pull request. The head's repository is null if the fork was deleted. */
export const described = (repo: string, pull: PullRequest, bots: readonly string[]): Record<string, unknown> => ({
  repo,
  pr_number: pull.number,
  title: pull.title,
  ...authorship(pull.user, bots),
  sha: pull.head.sha,
  head_ref: pull.head.ref,
  head_repo: pull.head.repo?.full_name ?? null,
  base_ref: pull.base.ref,
})

const isOf =
  (pr_number: number) =>
  ({ payload }: Seen): boolean =>
    payload.pr_number === pr_number

/** The commits that were pushed before a pull request was opened, except its head. */
function pushedBefore(known: readonly Seen[], repo: string, { head }: PullRequest): string[] {
  if (head.repo?.full_name !== repo) return []
  const last = known.findLast(
    ({ event_type, payload }) =>
      event_type === branchPushed && payload.sha === head.sha && payload.head_ref === head.ref,
  )
  return last ? (last.payload.commits as string[]).filter((sha) => sha !== head.sha) : []
}

const Body = v.object({
  action: Text,
  number: Count,
  pull_request: v.object({
    ...PullRequest.entries,
    body: v.nullish(Text),
    draft: v.optional(v.boolean()),
    created_at: Time,
    merged: v.optional(v.boolean()),
    merged_at: v.nullish(Time),
    closed_at: v.nullish(Time),
    merge_commit_sha: v.nullish(Sha),
    merged_by: Account,
  }),
  repository: Repository,
  sender: Account,
  review: foreign,
  comment: foreign,
  thread: foreign,
})

export const pullRequest = kind(
  v.pipe(
    Body,
    v.check(({ number, pull_request: pull }) => number === pull.number, 'number: is not that of the pull request'),
  ),
  ({ action, pull_request: pull, repository, sender }, { bots }) => {
    const repo = repository.full_name
    const common = {
      ...described(repo, pull, bots),
      action,
      sender: sender?.login,
      actor_is_human: isHuman(sender, bots),
    }
    const own = { field: 'pr_number' as const, value: pull.number }
    const single = (seen: Seen) => ({ repo, keys: [], events: () => [seen] })
    const { updated_at, draft } = pull
    switch (action) {
      case 'opened':
        return {
          repo,
          keys: [{ field: 'sha', value: pull.head.sha }],
          // The last event names the head.
          events: (known) => [
            ...pushedBefore(known, repo, pull).map((sha) => event('pr_commit', pull.created_at, { ...common, sha })),
            event('pr_opened', pull.created_at, { ...common, draft }),
          ],
        }
      case 'reopened':
        return single(event('pr_opened', updated_at, { ...common, draft }))
      case 'synchronize':
        return {
          repo,
          keys: [own],
          // A push to the branch may have reported this commit before.
          events: (known) =>
            known.some(({ event_type, payload }) => event_type === 'pr_commit' && payload.sha === pull.head.sha)
              ? []
              : [event('pr_commit', updated_at, common)],
        }
      case 'closed':
        break
      default:
        return null
    }
    if (!pull.merged) return single(event('pr_closed', pull.closed_at ?? updated_at, common))

    const ts = pull.merged_at ?? pull.closed_at ?? updated_at
    const merge_commit_sha = pull.merge_commit_sha ?? undefined
    const reverts = revertsIn(pull.title, pull.body ?? '', repo)
    const { linked, named, commits } = reverts
    return {
      repo,
      keys: [
        own,
        ...[...linked, ...named].map((value) => ({ field: 'pr_number' as const, value })),
        ...commits.map((value) => ({ field: 'merge_commit_sha' as const, value })),
      ],
      events(known) {
        const before = known.filter(isOf(pull.number))
        const merged = event('pr_merged', ts, {
          ...common,
          merge_commit_sha,
          merged_by: pull.merged_by?.login,
          ...approvals(before, { author: pull.user?.login ?? null, head: pull.head.sha, until: Date.parse(ts) }),
          // If the opening is not in the log, reviews may be missing too.
          history_complete: before.some(
            ({ event_type, payload }) => payload.action === 'opened' && event_type === 'pr_opened',
          ),
        })
        const about = {
          reverted_by_pr: pull.number,
          reverted_by_sha: merge_commit_sha,
          sender: common.sender,
          actor_is_human: common.actor_is_human,
        }
        return [merged, ...reversals({ repo, branch: pull.base.ref, ...reverts, by: pull.number, ts, about }, known)]
      },
    }
  },
)

export const review = kind(
  v.object({
    action: Text,
    pull_request: PullRequest,
    review: v.object({
      id: Count,
      user: Account,
      state: Text,
      commit_id: v.nullish(Sha),
      author_association: v.nullish(Text),
      submitted_at: v.nullish(Time),
    }),
    repository: Repository,
    sender: Account,
    number: foreign,
    comment: foreign,
    thread: foreign,
  }),
  ({ action, pull_request: pull, review, repository, sender }, { bots }) => {
    if (action !== 'submitted' && action !== 'dismissed') return null
    const repo = repository.full_name
    const state = action === 'dismissed' ? 'dismissed' : review.state.toLowerCase()
    // A dismissal happens after the review, and is made by another account.
    const ts = action === 'dismissed' ? pull.updated_at : (review.submitted_at ?? pull.updated_at)
    return {
      repo,
      keys: [{ field: 'pr_number', value: pull.number }],
      events(known) {
        const seen = event(state === 'approved' ? 'pr_review_approved' : 'pr_review_comment', ts, {
          ...described(repo, pull, bots),
          action,
          state,
          review_id: review.id,
          reviewer: review.user?.login,
          author_association: review.author_association ?? 'NONE',
          reviewed_sha: review.commit_id ?? undefined,
          sender: sender?.login,
          actor_is_human: isHuman(action === 'dismissed' ? sender : review.user, bots),
        })
        const counted = { author: pull.user?.login ?? null, head: pull.head.sha }
        const counts = approvals([...known.filter(isOf(pull.number)), seen], counted)
        return [{ ...seen, payload: { ...seen.payload, ...counts } }]
      },
    }
  },
)

export const reviewComment = kind(
  v.object({
    action: Text,
    pull_request: PullRequest,
    comment: v.object({ id: Count, user: Account, path: Text, commit_id: v.nullish(Sha), created_at: Time }),
    repository: Repository,
    sender: Account,
    number: foreign,
    review: foreign,
    thread: foreign,
  }),
  ({ action, pull_request: pull, comment, repository, sender }, { bots }) => {
    if (action !== 'created') return null
    const repo = repository.full_name
    const seen = event('pr_review_comment', comment.created_at, {
      ...described(repo, pull, bots),
      action,
      comment_id: comment.id,
      reviewer: comment.user?.login,
      reviewed_sha: comment.commit_id ?? undefined,
      sender: sender?.login,
      actor_is_human: isHuman(comment.user, bots),
    })
    return { repo, keys: [], events: () => [seen] }
  },
)
