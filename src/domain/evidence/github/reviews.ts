/** Deliveries on reviews of pull requests, and on comments at lines of their code. */
import * as v from 'valibot'
import { Account, isHuman } from './accounts.ts'
import { approvals } from './approvals.ts'
import { Count, event, foreign, kind, Repository, Sha, Text, Time } from './parts.ts'
import { described, isOf, PullRequest } from './pull-request.ts'

export const review = kind(
  v.object({
    action: Text,
    pull_request: PullRequest,
    review: v.object({
      id: Count,
      user: Account,
      state: Text,
      commit_id: v.nullish(Sha),
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
    // A dismissal is the act of another, later than the review.
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
          reviewed_sha: review.commit_id ?? undefined,
          sender: sender?.login,
          actor_is_human: isHuman(action === 'dismissed' ? sender : review.user, bots),
        })
        const counts = approvals([...known.filter(isOf(pull.number)), seen], pull.user?.login ?? null)
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
