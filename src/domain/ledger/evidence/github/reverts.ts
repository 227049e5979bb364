/**
 * Reverts of merged pull requests, by what a pull request or a commit says of itself. Only the link that GitHub's button writes is observed; what
 * other words say is inferred, since anyone who may merge can write them. Words that readers don't see count for nothing.
 */
import type { Seen } from '../../../policy/facts/reviews.ts'
import { event } from './parts.ts'

/** Most reverts that count per text. */
const maxReverts = 100

/** An HTML tag, or a fence of code: what follows may be hidden up to the end. */
const hidesRest = /<[A-Za-z/!?]|```|~~~/
/** Code and links: they may hide the following lines of their paragraph. */
const hidesParagraph = /[`[]/

/**
 * The lines of Markdown that readers certainly see as text. More is left out than is hidden: the rest after a tag or a fence of code, of a
 * paragraph what follows code or a link, and lines with a comment. Nesting can then hide nothing that this function shows.
 */
export function visibleLines(markdown: string): string[] {
  const found: string[] = []
  let in_comment = false
  let in_paragraph = false
  for (const line of markdown.split(/\r\n|\r|\n/)) {
    if (line.trim() === '' && !in_comment) in_paragraph = false
    let shown = ''
    let has_comment = in_comment
    for (let at = 0; at < line.length; ) {
      if (in_comment) {
        const end = line.indexOf('-->', at)
        in_comment = end < 0
        at = end < 0 ? line.length : end + 3
        continue
      }
      const start = line.indexOf('<!--', at)
      shown += line.slice(at, start < 0 ? line.length : start)
      in_comment = start >= 0
      has_comment ||= in_comment
      at = start < 0 ? line.length : start + 4
    }
    if (hidesRest.test(shown)) return found
    in_paragraph ||= hidesParagraph.test(shown)
    if (!in_paragraph && !has_comment) found.push(shown)
  }
  return found
}

/** Commits that lines revert, in the wording of `git revert`. */
const commitsIn = (lines: readonly string[]): string[] =>
  lines
    .flatMap((line) => /^This reverts commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?=[.,\s]|$)/.exec(line)?.[1] ?? [])
    .slice(0, maxReverts)

/** Commits that a commit's message says to revert. A squashed merge takes the text of its pull request over. */
export const revertedCommits = (message: string): string[] =>
  // The subject may contain anything, such as a title with code.
  commitsIn([message.split('\n', 1)[0]!, ...visibleLines(message.slice(message.indexOf('\n') + 1))])

/** What the text of a pull request says to revert. */
interface Reverts {
  /** Pull requests that GitHub's button links: a title `Revert "…"`, and `Reverts owner/name#12` in the text. */
  linked: number[]
  /** Pull requests in similar words. */
  named: number[]
  /** Merge commits. */
  commits: string[]
}

export function revertsIn(title: string, body: string, repo: string): Reverts {
  const lines = visibleLines(body)
  const byButton = /^(?:Revert|Reapply) "/.test(title)
  const reverts: Reverts = { linked: [], named: [], commits: commitsIn(lines) }
  if (!/^(?:revert|reapply)\b/i.test(title)) return reverts
  for (const line of lines) {
    const [, named, number] = /^Reverts (?:([\w.-]+\/[\w.-]+))?#([1-9]\d{0,9})[ \t]*$/i.exec(line) ?? []
    if (number === undefined || (named !== undefined && named.toLowerCase() !== repo.toLowerCase())) continue
    const list = byButton && named !== undefined ? reverts.linked : reverts.named
    if (list.length < maxReverts) list.push(Number(number))
  }
  return reverts
}

interface Reverting extends Partial<Reverts> {
  repo: string
  /** The branch of the revert: only pull requests that were merged into it count. */
  branch: string
  /** The pull request that reverts; it does not revert itself. */
  by?: number
  ts: string
  /** Payload members about the revert. */
  about: Record<string, unknown>
}

/** One event for each reverted pull request, unless an event that says as much is known. */
export function reversals(
  { repo, branch, linked = [], named = [], commits = [], by, ts, about }: Reverting,
  known: readonly Seen[],
): Seen[] {
  const merged = known.filter(({ event_type }) => event_type === 'pr_merged')
  const byCommit = merged.filter(({ payload }) => commits.some((sha) => sha === payload.merge_commit_sha))
  const observed = new Set<unknown>(linked)
  const inferred = new Set([...named, ...byCommit.map(({ payload }) => payload.pr_number)]).difference(observed)
  for (const { event_type, payload, is_inferred } of known) {
    const { pr_number } = payload
    const isElsewhere = event_type === 'pr_merged' && payload.base_ref !== branch
    if (isElsewhere || event_type === 'pr_reverted') inferred.delete(pr_number)
    if (isElsewhere || (event_type === 'pr_reverted' && !is_inferred)) observed.delete(pr_number)
  }
  const reverted = (is_inferred: boolean) => (pr_number: unknown) => {
    const { title, author, is_agent_authored, agent_type, merge_commit_sha } =
      merged.find(({ payload }) => payload.pr_number === pr_number)?.payload ?? {}
    const original = { title, author, is_agent_authored, agent_type, merge_commit_sha }
    const seen = event('pr_reverted', ts, { repo, pr_number, base_ref: branch, ...original, ...about })
    return is_inferred ? { ...seen, is_inferred } : seen
  }
  const others = (list: ReadonlySet<unknown>) => [...list].filter((number) => number !== by)
  return [...others(observed).map(reverted(false)), ...others(inferred).map(reverted(true))]
}
