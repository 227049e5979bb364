/** Deliveries about pushes: commits of open pull requests, and reverts that have no pull request. */
import * as v from 'valibot'
import type { WebhookKey } from '../../../../../sdk/storage/evidence.ts'
import type { Seen } from '../../../policy/facts/reviews.ts'
import { Account, branchPushed, event, foreign, isHuman, kind, Repository, Sha, Text, Time } from './parts.ts'
import { reversals, revertedCommits } from './reverts.ts'

/** GitHub's limit per delivery. */
const maxCommits = 2_048
const heads = 'refs/heads/'

/** The pull requests that were open at this head, as last described. */
function openAt(known: readonly Seen[], sha: string, branch: string, repo: string): Seen[] {
  const last = new Map<unknown, Seen>()
  for (const seen of known) {
    if (seen.payload.sha === sha && /^pr_(?:opened|commit|merged|closed)$/.test(seen.event_type))
      last.set(seen.payload.pr_number, seen)
  }
  return [...last.values()].filter(
    ({ event_type, payload }) =>
      event_type !== 'pr_merged' &&
      event_type !== 'pr_closed' &&
      payload.head_ref === branch &&
      payload.head_repo === repo,
  )
}

/** Most commits of a branch without a pull request that are kept for one that may be opened later. */
const maxWaiting = 250

/**
 * The commits that a branch has received since it was last part of a pull request, if this push follows the previous one. Commits that
 * were on another branch before don't count.
 */
function waitingAt(known: readonly Seen[], before: string, branch: string): string[] {
  const last = known.findLast(({ payload }) => payload.sha === before && payload.head_ref === branch)
  return last?.event_type === branchPushed ? (last.payload.commits as string[]) : []
}

export const push = kind(
  v.object({
    ref: Text,
    before: Sha,
    after: Sha,
    commits: v.pipe(
      v.array(
        v.object({
          id: Sha,
          message: Text,
          distinct: v.optional(v.boolean()),
          author: v.nullish(v.object({ username: v.optional(Text) })),
        }),
      ),
      v.maxLength(maxCommits),
    ),
    repository: v.object({
      ...Repository.entries,
      default_branch: v.optional(Text),
      /** Seconds since 1970. */
      pushed_at: v.union([v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(253_402_300_799)), Time]),
    }),
    sender: Account,
    action: foreign,
    pull_request: foreign,
    check_suite: foreign,
    check_run: foreign,
  }),
  ({ ref, before, after, commits, repository, sender }, { bots }) => {
    if (!ref.startsWith(heads) || commits.length === 0) return null
    const repo = repository.full_name
    const branch = ref.slice(heads.length)
    const { pushed_at } = repository
    const ts = typeof pushed_at === 'number' ? new Date(pushed_at * 1_000).toISOString() : pushed_at
    const actor = { sender: sender?.login, actor_is_human: isHuman(sender, bots) }
    const reverts = commits
      .flatMap(({ id, message }) => revertedCommits(message).map((sha) => ({ sha, by: id })))
      .slice(0, maxCommits)
    const keys: WebhookKey[] = [before, ...commits.map(({ id }) => id)].map((value) => ({ field: 'sha', value }))
    keys.push(...reverts.map(({ sha }) => ({ field: 'merge_commit_sha' as const, value: sha })))
    return {
      repo,
      keys,
      events(known) {
        const isRecorded = (pr_number: unknown, sha: string) =>
          known.some(
            ({ event_type, payload }) =>
              event_type === 'pr_commit' && payload.pr_number === pr_number && payload.sha === sha,
          )
        const pulls = openAt(known, before, branch, repo)
        const added = pulls.flatMap(({ payload }) => {
          const { pr_number, title, author, is_agent_authored, agent_type, head_ref, head_repo, base_ref } = payload
          const pull = { repo, pr_number, title, author, is_agent_authored, agent_type, head_ref, head_repo, base_ref }
          return commits
            .filter(({ id }) => !isRecorded(pr_number, id))
            .map((commit) =>
              event('pr_commit', ts, {
                ...pull,
                sha: commit.id,
                commit_author: commit.author?.username,
                ...(commit.distinct === false && { distinct: false }),
                ...actor,
              }),
            )
        })
        const own = commits.flatMap(({ id, distinct }) => (distinct === false ? [] : [id]))
        if (pulls.length === 0 && own.length > 0 && branch !== repository.default_branch) {
          const all = [...waitingAt(known, before, branch), ...own].slice(-maxWaiting)
          added.push(event(branchPushed, ts, { repo, sha: after, head_ref: branch, commits: all, ...actor }))
        }
        const reverted: Seen[] = []
        for (const { sha, by } of reverts) {
          const about = { reverted_by_sha: by, ...actor }
          const reverting = { repo, branch, commits: [sha], ts, about }
          reverted.push(...reversals(reverting, [...known, ...reverted]))
        }
        return [...added, ...reverted]
      },
    }
  },
)
