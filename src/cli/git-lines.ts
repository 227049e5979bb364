/** Reads decisions from the history of a repository as lines of an import. */
import { type History, outcomeOf, standingDays } from '../app/git/decisions.ts'
import type { GitDecision } from '../app/git/git-decision.ts'
import { plainText, shorten } from '../core/quote.ts'
import { maskSecrets } from '../core/secrets.ts'
import type { Line } from './import-lines.ts'

const maxBody = 8_000
const maxFiles = 100
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const short = ({ commit }: GitDecision): string => commit.sha.slice(0, 10)
export const sourceOf = (sha: string): string => `git:${sha}`

/** Signatures and references that say nothing about the decision. */
const trailer =
  /^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reviewed-on|reported-by|change-id|pr-url|cc|git-svn-id|cherry[- ]picked from|\(cherry picked from)\b.*$/i

/** The body without trailers, without secrets, and bounded. */
function bodyOf(body: string): string {
  const lines = body.split('\n').filter((line) => !trailer.test(line.trim()) && !/^-{4,}$/.test(line.trim()))
  return maskSecrets(
    lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
      .slice(0, maxBody),
  ).toWellFormed()
}

/** The decision in one line, with the part of the project that a conventional subject names. */
export const titleOf = ({ title, scope, kind }: GitDecision): string =>
  maskSecrets(plainText(scope === null || kind === 'revert' ? title : `${scope}: ${title}`)).trim()

function reviewOf(one: GitDecision, now_ms: number): object {
  const found = outcomeOf(one, now_ms)
  if (found === null) return {}
  const after = `${found.days} ${found.days === 1 ? 'day' : 'days'}`
  const by = one.revertedBy
  if (by === null)
    return {
      basis: 'evidence',
      outcome: found.outcome,
      actual_result: `In the history since ${dayOf(one.landed_ms)}, and not reverted within ${standingDays} days`,
    }
  const why = bodyOf(by.body)
    .split('\n')
    .filter((line) => !/^(?:This reverts|Reverts) /.test(line))
    .join('\n')
    .trim()
  return {
    basis: 'evidence',
    outcome: found.outcome,
    actual_result: `Reverted after ${after} by ${short(by)}: ${titleOf(by)}`,
    ...(why !== '' && { lessons: shorten(why, 2_000) }),
  }
}

function lineOf(one: GitDecision, project: string | null, known: ReadonlySet<string>, now_ms: number): unknown {
  const { commit, kind, type, scope, pr, body } = one
  const name = plainText(commit.author).trim().slice(0, 200).toWellFormed()
  const text = bodyOf(body)
  const time = Math.min(Math.max(commit.author_ms, 0), now_ms)
  const where = `Commit ${short(one)}${pr === null ? '' : `, pull request ${pr}`}${project === null ? '' : ` of ${project}`}.`
  return {
    source: sourceOf(commit.sha),
    decision: titleOf(one),
    category: null,
    confidence: null,
    // Git itself says after this time whether it lasted.
    review_in: `${standingDays}d`,
    date: new Date(time).toISOString(),
    ...(name !== '' && { agent: name }),
    context: text === '' ? where : `${text}\n\n${where}`,
    tags: [...new Set([kind, ...(type === null ? [] : [type])])],
    project: {
      ...(project !== null && { name: project }),
      ...(scope !== null && { feature: plainText(scope).slice(0, 256) }),
      ...(pr !== null && pr > 0 && { pr }),
      files: commit.changes
        .map(({ path }) => path)
        .filter((path) => path !== '' && path.length <= 1_024)
        .slice(0, maxFiles),
    },
    ...reviewOf(one, now_ms),
    links: [...one.supersedes]
      .filter(([sha]) => known.has(sha))
      .map(([sha, context]) => ({ target: sourceOf(sha), edge_type: 'supersedes', weight: 1, context })),
  }
}

/** The lines of a history, the oldest first, so that a link is to what is there already. */
export function gitLines({ decisions, repository }: History, project: string | undefined, now_ms: number): Line[] {
  const known = new Set(decisions.map(({ commit }) => commit.sha))
  return decisions
    .toReversed()
    .filter((one) => titleOf(one) !== '')
    .map((one) => ({
      file: `commit ${short(one)}`,
      value: lineOf(one, project ?? repository, known, now_ms),
    }))
}

/** What a dry run shows of the newest decisions. */
export const previewOf = ({ decisions }: History, now_ms: number) =>
  decisions.slice(0, 20).map((one) => ({
    sha: one.commit.sha,
    date: dayOf(one.commit.author_ms),
    kind: one.kind,
    decision: titleOf(one),
    outcome: outcomeOf(one, now_ms)?.outcome ?? null,
  }))
