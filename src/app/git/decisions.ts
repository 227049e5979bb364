/** Decisions in the history of a repository, without a model: what commits decide, which were taken back, and which replace earlier ones. */
import { createHash } from 'node:crypto'
import { type DecidingCommit, decidingCommit } from '../../domain/record/decision/deciding-commit.ts'
import { openBlobs } from './blobs.ts'
import { choiceIn } from './choices.ts'
import { dependencyChanges } from './dependencies.ts'
import type { GitDecision } from './git-decision.ts'
import { type Change, type Commit, commits } from './log.ts'
import { bare, namesTarget, type Reverts, revertsIn, subjectOf, takeBack, vagueRevert } from './reverts.ts'
import { gitText, repositoryOf } from './run.ts'

const dayMs = 86_400_000
/** Days after which a commit that nothing took back counts as a success. */
export const standingDays = 90
export const defaultLimit = 2_000
/** Commits that are read at most. */
const maxCommits = 50_000
const quickCommits = 5_000
/** Commits of one author with the same title within this time are one decision. */
const copyMs = 60 * dayMs
/** A commit that removes more dependencies changes the layout of manifests. */
const maxRemoved = 6
/** Changes with more files are not compared with later ones that undo them. */
const maxUndone = 100

export interface History {
  decisions: GitDecision[]
  /** Commits that were read. */
  read: number
  /** Whether the limit left out older ones. */
  limited: boolean
  /** `owner/repo` of the remote; null if there is none. */
  repository: string | null
}

export interface HistoryOptions {
  limit?: number
  since?: string | null
  signal?: AbortSignal
  progress?(read: number, found: number): void
}

/** What is read: the branch that others work on, else the current one. */
async function startOf(folder: string): Promise<string | null> {
  for (const ref of ['refs/remotes/origin/HEAD', 'HEAD'])
    if ((await gitText(folder, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`)) !== null)
      return ref
  return null
}

const keyOf = (changes: readonly Change[], inverse: boolean): string =>
  createHash('sha1')
    .update(
      changes
        .map(({ path, before, after }) => `${path}\0${inverse ? after : before}\0${inverse ? before : after}`)
        .sort()
        .join('\n'),
    )
    .digest('base64')

/** Automated and release commits are not worth a record of their own for having been taken back. */
const worthless =
  /^(?:merge|release|prepare|bump|v?\d+\.\d+|version|(?:docs?|test|tests|style|chore|release|changelog)\b[^:]*:|update (?:changelog|readme|docs)|typo|wip\b)/i

/** Finds decisions while commits come in, the newest first. */
class Finder {
  readonly decisions: GitDecision[] = []
  read = 0
  /** Reverts by the first 7 characters of the hash that they name. */
  private byHash = new Map<string, { hash: string; by: GitDecision }[]>()
  private byPull = new Map<number, GitDecision[]>()
  private byTitle = new Map<string, GitDecision[]>()
  /** Later commits by what they undo. */
  private undoing = new Map<string, Commit>()
  private removed = new Map<string, GitDecision>()
  private dropped = new Map<string, GitDecision>()
  private copies = new Map<string, number>()
  private trunk: string | null = null
  /** The merge that brought a commit, and the decision that this merge is. */
  private merges = new Map<string, { landed_ms: number; decision: GitDecision | null }>()
  private bySha = new Map<string, GitDecision>()

  constructor(private readonly dependenciesOf: (commit: Commit) => ReturnType<typeof dependencyChanges>) {}

  async add(commit: Commit): Promise<void> {
    this.read++
    const isTrunk = this.trunk === null || commit.sha === this.trunk
    if (isTrunk) this.trunk = commit.parents[0] ?? ''
    const merge = isTrunk ? undefined : this.merges.get(commit.sha)
    const landed_ms = merge?.landed_ms ?? commit.commit_ms
    const found = await this.decide(commit, landed_ms, merge?.decision ?? null)
    // What a merge brings is told apart from what was there before.
    const brings = { landed_ms, decision: found?.pr != null && commit.parents.length > 1 ? found : null }
    for (const parent of isTrunk ? commit.parents.slice(1) : commit.parents)
      if (parent !== this.trunk && !this.merges.has(parent)) this.merges.set(parent, merge ?? brings)
    this.merges.delete(commit.sha)
  }

  private async decide(commit: Commit, landed_ms: number, carrier: GitDecision | null): Promise<GitDecision | null> {
    const subject = subjectOf(commit.message)
    const dependencies = await this.dependenciesOf(commit)
    const deciding = decidingCommit({
      message: commit.message,
      files: commit.changes.map(({ path }) => path),
      ...(dependencies && { dependencies }),
    })
    const isCalled = deciding?.kind === 'revert'
    const reverts = revertsIn(subject, commit.message, isCalled)
    const isRevert = isCalled || reverts.hashes.length > 0
    const reverter = this.reverterOf(commit, subject, deciding)
    const base = deciding ?? { title: subject.slice(0, 200), body: '', type: null, scope: null, pr: null }
    // The parts of a pull request whose merge decides are not decisions of their own, unless they are taken back.
    // The same commit on several branches, or made part by part, is one decision.
    const copy = `${commit.author} ${bare(isRevert ? subject : base.title)}`
    if (Math.abs((this.copies.get(copy) ?? Number.NaN) - commit.author_ms) < copyMs) return null
    const isPart = carrier !== null && (!isRevert || carrier.kind === 'revert')
    const isKept = reverter !== null && commit.parents.length < 2 && !worthless.test(subject) && subject.length > 8
    if (isPart && isRevert) this.noteReverts(reverts, carrier)
    if (reverter === null ? isPart || (!deciding && !isRevert) : !deciding && !isKept) {
      if (!isPart) this.noteUndoing(commit)
      return null
    }
    const one: GitDecision = {
      ...base,
      // Without its type, the subject says the opposite.
      title: base.type === 'revert' && !namesTarget.test(base.title) ? `Revert “${base.title}”` : base.title,
      commit,
      kind: isRevert ? 'revert' : (deciding?.kind ?? 'reverted'),
      landed_ms,
      revertedBy: reverter,
      supersedes: new Map(),
    }
    this.copies.set(copy, commit.author_ms)
    this.decisions.push(one)
    this.bySha.set(commit.sha, one)
    if (reverter) takeBack(reverter, one)
    if (isRevert) this.noteReverts(reverts, one)
    else this.noteUndoing(commit)
    this.noteChoice(one, dependencies)
    return one
  }

  /** The decision that takes a commit back; null if none does, or if it was taken back itself. */
  private reverterOf(commit: Commit, subject: string, deciding: DecidingCommit | null): GitDecision | null {
    const pr = deciding?.pr ?? null
    const named = this.byHash.get(commit.sha.slice(0, 7))?.find(({ hash }) => commit.sha.startsWith(hash))?.by
    const pull = pr === null ? undefined : this.byPull.get(pr)?.at(-1)
    const titled = (named ?? pull) ? undefined : this.byTitle.get(bare(subject))?.pop()
    const undone =
      (named ?? pull ?? titled) ||
      deciding === null ||
      commit.parents.length > 1 ||
      commit.changed === 0 ||
      commit.changed > maxUndone
        ? undefined
        : this.undoing.get(keyOf(commit.changes, true))
    const by = named ?? pull ?? titled ?? (undone && this.decisionOf(undone)) ?? null
    return by === null || by.revertedBy !== null ? null : by
  }

  /** A commit that undoes an earlier one is a decision, whatever its message says. */
  private decisionOf(commit: Commit): GitDecision {
    const known = this.bySha.get(commit.sha)
    if (known) return known
    const made: GitDecision = {
      commit,
      kind: 'revert',
      title: subjectOf(commit.message).slice(0, 200),
      body: commit.message.split('\n').slice(1).join('\n').trim(),
      type: null,
      scope: null,
      pr: null,
      landed_ms: commit.commit_ms,
      revertedBy: null,
      supersedes: new Map(),
    }
    this.decisions.push(made)
    this.bySha.set(commit.sha, made)
    return made
  }

  private noteReverts({ hashes, pulls, title }: Reverts, by: GitDecision): void {
    for (const hash of hashes) push(this.byHash, hash.slice(0, 7), { hash, by })
    for (const pull of pulls) push(this.byPull, pull, by)
    if (hashes.length === 0 && pulls.length === 0 && title !== null) push(this.byTitle, bare(title), by)
  }

  private noteUndoing(commit: Commit): void {
    if (commit.parents.length > 1 || commit.changed === 0 || commit.changed > maxUndone) return
    this.undoing.set(keyOf(commit.changes, false), commit)
  }

  /** Links to what later decisions gave up, and what this one gives up. */
  private noteChoice(one: GitDecision, dependencies: { added: string[]; removed: string[] } | undefined): void {
    const { chosen, dropped } = one.kind === 'revert' ? { chosen: null, dropped: null } : choiceIn(one.title)
    const later = chosen === null ? undefined : this.dropped.get(chosen)
    if (later && later !== one) later.supersedes.set(one.commit.sha, `no longer ${chosen}`)
    const added = dependencies?.added ?? []
    const removers = added.map((name) => this.removed.get(name))
    if (added.length > 0 && added.length <= 3 && removers.every((by) => by !== undefined && by !== one))
      removers.at(-1)!.supersedes.set(one.commit.sha, `removes ${added.join(', ')}`)
    if (dropped !== null) this.dropped.set(dropped, one)
    const removed = dependencies?.removed ?? []
    if (removed.length <= maxRemoved) for (const name of removed) this.removed.set(name, one)
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

/** The decisions of a repository, the newest first. @throws Error if git can't be run, or if the folder is not in a repository with a commit */
export async function readHistory(folder: string, options: HistoryOptions = {}): Promise<History> {
  const { limit = defaultLimit, since = null, signal, progress } = options
  const from = await startOf(folder)
  if (from === null) throw new Error(`${folder} is not a git repository with a commit`)
  const blobs = openBlobs(folder)
  const finder = new Finder(({ changes }) => dependencyChanges(changes, blobs))
  let limited = false
  try {
    for await (const commit of commits(folder, { from, max: maxCommits, since })) {
      if (finder.decisions.length >= limit || signal?.aborted) {
        limited = true
        break
      }
      await finder.add(commit)
      if (finder.read % 100 === 0) progress?.(finder.read, finder.decisions.length)
    }
  } finally {
    await blobs.close()
  }
  const repository = repositoryOf(await gitText(folder, 'remote', 'get-url', 'origin'))
  return {
    // A revert that names nothing, of something that is not found, says nothing.
    decisions: finder.decisions.filter(({ kind, title }) => kind !== 'revert' || !vagueRevert.test(title)),
    read: finder.read,
    limited: limited || finder.read === maxCommits,
    repository,
  }
}

/**
 * How many decisions `cstp import git` would find, by the messages of the newest commits alone: about 50 ms.
 * @returns null if the folder is not in a repository with a commit; `more` if older commits were not looked at
 */
export async function countDecisions(folder: string): Promise<{ decisions: number; more: boolean } | null> {
  try {
    const from = await startOf(folder)
    if (from === null) return null
    let [decisions, read] = [0, 0]
    for await (const { message } of commits(folder, { from, max: quickCommits, messages_only: true })) {
      read++
      if (decidingCommit({ message })) decisions++
    }
    return { decisions: Math.min(decisions, defaultLimit), more: read === quickCommits }
  } catch {
    return null
  }
}

/** What history says of a decision; null while it says nothing. */
export function outcomeOf(
  one: GitDecision,
  now_ms: number,
): { outcome: 'success' | 'failure'; at_ms: number; days: number } | null {
  const { revertedBy, landed_ms } = one
  const daysTo = (end_ms: number) => Math.max(0, Math.floor((end_ms - landed_ms) / dayMs))
  if (revertedBy) return { outcome: 'failure', at_ms: revertedBy.landed_ms, days: daysTo(revertedBy.landed_ms) }
  const days = daysTo(now_ms)
  return days >= standingDays ? { outcome: 'success', at_ms: landed_ms + standingDays * dayMs, days } : null
}
