/** Deliveries about checks: results of continuous integration. */
import * as v from 'valibot'
import type { Seen } from '../../../policy/facts/reviews.ts'
import { Account, Count, event, foreign, kind, type Plan, Repository, Sha, Text, Time } from './parts.ts'

const App = v.nullish(v.object({ slug: v.optional(Text), name: v.optional(Text) }))
const PullRequests = v.array(v.object({ number: Count, base: v.object({ repo: v.object({ id: Count }) }) }))
const RepositoryWithId = v.object({ ...Repository.entries, id: Count })

interface Check {
  repository: v.InferOutput<typeof RepositoryWithId>
  sha: string
  ts: string
  pulls: v.InferOutput<typeof PullRequests>
  about: Record<string, unknown>
}

/** Most events per check. */
const maxPullRequests = 100

/** One event for each pull request whose head was checked; one event without a number if there is none. */
function completed({ repository, sha, ts, pulls, about }: Check): Plan {
  const repo = repository.full_name
  const listed = pulls.filter(({ base }) => base.repo.id === repository.id).map(({ number }) => number)
  // GitHub lists no pull requests from forks: they are found by the commit in the log.
  const openedAt = (known: readonly Seen[]) =>
    known
      .filter(({ event_type }) => event_type === 'pr_opened' || event_type === 'pr_commit')
      .map(({ payload }) => payload.pr_number)
  return {
    repo,
    keys: [{ field: 'sha', value: sha }],
    events(known) {
      const numbers = [...new Set<unknown>([...listed, ...openedAt(known)])].slice(0, maxPullRequests)
      return (numbers.length === 0 ? [undefined] : numbers).map((pr_number) =>
        event('ci_completed', ts, { repo, pr_number, sha, ...about }),
      )
    },
  }
}

export const checkSuite = kind(
  v.object({
    action: Text,
    check_suite: v.object({
      id: Count,
      head_sha: Sha,
      head_branch: v.nullish(Text),
      conclusion: v.nullish(Text),
      pull_requests: PullRequests,
      app: App,
      updated_at: Time,
    }),
    repository: RepositoryWithId,
    sender: Account,
    check_run: foreign,
  }),
  ({ action, check_suite: suite, repository, sender }) =>
    action === 'completed'
      ? completed({
          repository,
          sha: suite.head_sha,
          ts: suite.updated_at,
          pulls: suite.pull_requests,
          about: {
            check: 'check_suite',
            check_id: suite.id,
            conclusion: suite.conclusion ?? null,
            branch: suite.head_branch ?? undefined,
            app: suite.app?.slug ?? suite.app?.name,
            sender: sender?.login,
          },
        })
      : null,
)

export const checkRun = kind(
  v.object({
    action: Text,
    check_run: v.object({
      id: Count,
      name: Text,
      head_sha: Sha,
      conclusion: v.nullish(Text),
      pull_requests: PullRequests,
      app: App,
      completed_at: v.nullish(Time),
      started_at: v.nullish(Time),
    }),
    repository: RepositoryWithId,
    sender: Account,
    check_suite: foreign,
  }),
  ({ action, check_run: run, repository, sender }) => {
    const ts = run.completed_at ?? run.started_at
    if (action !== 'completed' || !ts) return null
    return completed({
      repository,
      sha: run.head_sha,
      ts,
      pulls: run.pull_requests,
      about: {
        check: 'check_run',
        check_id: run.id,
        name: run.name,
        conclusion: run.conclusion ?? null,
        app: run.app?.slug ?? run.app?.name,
        sender: sender?.login,
      },
    })
  },
)
