/** Deliveries on pull requests: opened, new commits, merged or closed; and what a merge takes back. */
import * as v from 'valibot'
import { Account, authorship, isHuman } from './accounts.ts'
import { approvals } from './approvals.ts'
import { Count, event, foreign, kind, Repository, type Seen, Sha, Text, Time } from './parts.ts'
import { reversals, revertedCommits, revertedNumbers } from './reverts.ts'

const Side = v.object({ ref: Text, sha: Sha, repo: v.nullish(Repository) })

/** What all deliveries say of a pull request. */
export const PullRequest = v.object({
  number: Count,
  title: Text,
  user: Account,
  head: Side,
  base: Side,
  updated_at: Time,
})
export type PullRequest = v.InferOutput<typeof PullRequest>

/** What each event of a pull request says. The head's repository is null where the fork was deleted. */
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

export const isOf =
  (pr_number: number) =>
  ({ payload }: Seen): boolean =>
    payload.pr_number === pr_number

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
        return single(event('pr_opened', pull.created_at, { ...common, draft }))
      case 'reopened':
        return single(event('pr_opened', updated_at, { ...common, draft }))
      case 'synchronize':
        return {
          repo,
          keys: [own],
          // A push to the branch may have told of this commit before.
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
    const text = pull.body ?? ''
    const numbers = revertedNumbers(pull.title, text, repo).filter((number) => number !== pull.number)
    const commits = revertedCommits(text)
    return {
      repo,
      keys: [
        own,
        ...numbers.map((value) => ({ field: 'pr_number' as const, value })),
        ...commits.map((value) => ({ field: 'merge_commit_sha' as const, value })),
      ],
      events(known) {
        const before = known.filter(isOf(pull.number))
        const merged = event('pr_merged', ts, {
          ...common,
          merge_commit_sha,
          merged_by: pull.merged_by?.login,
          ...approvals(before, pull.user?.login ?? null, Date.parse(ts)),
          // Without its opening, reviews may have been missed: the counts are what was seen.
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
        return [merged, ...reversals({ repo, branch: pull.base.ref, numbers, commits, ts, about }, known)]
      },
    }
  },
)
