/** Reverts: which pull requests a text takes back, and the events that say so. */
import { event, type Seen } from './parts.ts'

/** At most so many of one text count. */
const most = 100

/** Commits that a message takes back, in the words of `git revert`. */
export const revertedCommits = (message: string): string[] =>
  [...message.matchAll(/^This reverts commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?=[.,\s]|$)/gm)]
    .slice(0, most)
    .map(([, sha]) => sha!)

/** Numbers that a pull request takes back, in the words of GitHub's button: `Reverts owner/name#12`. */
export function revertedNumbers(title: string, body: string, repo: string): number[] {
  if (!/^revert\b/i.test(title)) return []
  return [...body.matchAll(/^Reverts (?:([\w.-]+\/[\w.-]+))?#([1-9]\d{0,9})[ \t\r]*$/gim)]
    .filter(([, named]) => named === undefined || named.toLowerCase() === repo.toLowerCase())
    .slice(0, most)
    .map(([, , number]) => Number(number))
}

export interface Reverting {
  repo: string
  /** The branch on which they are taken back: a pull request counts where it was merged into it. */
  branch: string
  numbers: readonly number[]
  commits: readonly string[]
  ts: string
  /** What the payloads say of the one who reverted. */
  about: Record<string, unknown>
}

/** One event for each pull request that is taken back and was not before. */
export function reversals({ repo, branch, numbers, commits, ts, about }: Reverting, known: readonly Seen[]): Seen[] {
  const merged = known.filter(({ event_type }) => event_type === 'pr_merged')
  const byCommit = merged.filter(({ payload }) => commits.some((sha) => sha === payload.merge_commit_sha))
  const reverted = new Set([...numbers, ...byCommit.map(({ payload }) => payload.pr_number)])
  for (const { event_type, payload } of known) {
    if (event_type === 'pr_reverted') reverted.delete(payload.pr_number)
    if (event_type === 'pr_merged' && payload.base_ref !== branch) reverted.delete(payload.pr_number)
  }
  return [...reverted].map((pr_number) => {
    const { title, author, is_agent_authored, agent_type, merge_commit_sha } =
      merged.find(({ payload }) => payload.pr_number === pr_number)?.payload ?? {}
    const original = { title, author, is_agent_authored, agent_type, merge_commit_sha }
    return event('pr_reverted', ts, { repo, pr_number, base_ref: branch, ...original, ...about })
  })
}
