/** What a message says that it takes back. */
import type { GitDecision } from './git-decision.ts'

const revertLine = /^This reverts (?:commits? )?((?:[0-9a-f]{7,64}\b[\s,.]*(?:and )?){1,20})/gm
const revertedPull = /^Reverts (?:[\w.-]{1,100}\/[\w.-]{1,100})?#(\d{1,9})\b/gm
const revertedTitle = /^(?:\w+(?:\([^()]{1,60}\))?!?: *)?(?:revert(?:ed|s|ing)?|reapply):? *["“](.+)["”]/i
const plainRevert = /^revert:? (?!["“])(.+)$/i
const revertedNumber =
  /^(?:\w+(?:\([^()]{1,60}\))?!?: *)?revert(?:ed|s|ing)? (?:(?:pr|pull|pull request|merge)[ /])?#?(\d{1,9})\b/i

export interface Reverts {
  hashes: string[]
  pulls: number[]
  title: string | null
}

/** What a message says it takes back; in the body of one that is not called a revert, only at its beginning: others list commits. */
export function revertsIn(subject: string, message: string, isCalled: boolean): Reverts {
  const [, ...rest] = message.trimStart().split('\n')
  if (!isCalled && !/^This reverts (?:commit|PR)/.test(rest.join('\n').trimStart()))
    return { hashes: [], pulls: [], title: null }
  return {
    hashes: [...message.matchAll(revertLine)].flatMap(([, list]) => list!.match(/[0-9a-f]{7,64}/g) ?? []),
    pulls: [
      ...message.matchAll(revertedPull),
      ...(revertedNumber.exec(subject) ? [revertedNumber.exec(subject)!] : []),
    ].map(([, number]) => Number(number)),
    title: revertedTitle.exec(subject)?.[1] ?? plainRevert.exec(subject)?.[1] ?? null,
  }
}

/** A subject without its number, as a later revert quotes it. */
export const bare = (subject: string): string =>
  subject
    .replace(/ ?\(#\d{1,9}\)/g, '')
    .replace(/…$|\.{3}$/, '')
    .trim()
    .toLowerCase()

/** The subject of a commit, or the title of the pull request that it merges. */
export function subjectOf(message: string): string {
  const [first = '', ...rest] = message.trimStart().split('\n')
  return /^Merge pull request #\d/.test(first) ? (rest.find((line) => line.trim() !== '') ?? first) : first
}

/** Its title names what it takes back. */
export const namesTarget = /["“”]/
/** Says nothing by itself. */
export const vagueRevert =
  /^(?:revert|undo|restore|back ?out|roll ?back)[a-z]*(?: (?:some|my|last|previous|the|this|these|all|stupid|bad|change|changes|commit|commits|stuff|part|that|it))*\.?$/i

/** Records that `by` takes `one` back, and names it in the title of `by`. */
export function takeBack(by: GitDecision, one: GitDecision): void {
  by.supersedes.set(one.commit.sha, 'takes it back')
  if (namesTarget.test(by.title)) return
  by.title =
    vagueRevert.test(by.title) || one.title.includes(by.title)
      ? `Revert “${one.title}”`
      : `${by.title} (reverts “${one.title}”)`
}
